package describe

import (
	"strings"

	"gossiptrainer/configs"
)

// Suggestion returns a word that completes another, and its meaning, as shells take them.
func Suggestion(word, meaning string) string { return word + "\t" + meaning }

// CompleteKey completes key=value of a run file: first the key, then its values. A key without a list of values has its
// default. valued says that the word has its key.
func CompleteKey(word string) (all []string, valued bool) {
	key, _, valued := strings.Cut(word, "=")
	for _, k := range configs.Reference() {
		switch {
		case !valued:
			all = append(all, Suggestion(k.Name+"=", k.Description))
		case k.Name != key:
		case len(k.Values) > 0:
			for _, v := range k.Values {
				all = append(all, Suggestion(key+"="+v, k.Description))
			}
		case k.Default != "":
			all = append(all, Suggestion(key+"="+k.Default, "default; "+k.Description))
		}
	}
	return all, valued
}

// CompleteUntil completes key=value of --until, with a value as an example.
func CompleteUntil(word string) (all []string, valued bool) {
	key, _, valued := strings.Cut(word, "=")
	for _, end := range [][3]string{
		{"time=", "10m", "virtual time in sim, wall clock in lab"},
		{"loss=", "0.5", "training loss, as a report sees it"},
		{"accuracy=", "0.9", "on the test set; needs output.evaluate"},
	} {
		switch {
		case !valued:
			all = append(all, Suggestion(end[0], end[2]))
		case end[0] == key+"=":
			all = append(all, Suggestion(end[0]+end[1], end[2]))
		}
	}
	return all, valued
}
