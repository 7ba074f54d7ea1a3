package handshake

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/internal/settings"
)

const (
	maxSettings = 1 << 15 // bytes of the settings in a message
	mostNamed   = 5       // settings that a refusal names
	widest      = 48      // characters of a key or a value in a refusal
)

const sameFile = "all machines need the same run file; only the section node, data.dir, wire, limit, checkpoint and " +
	"output may differ"

// parentKey is the setting that names the run from which another one goes on without a majority.
const parentKey = "membership.parent"

const otherParent = "the two go on from different runs. To join the one that goes on without a majority, give " +
	"peer run --without-majority a copy of the run folder with which that one was begun"

var errSettingsForm = errors.New("malformed settings")

// compareSections lets both ends name the settings in which they differ. If hashes differ, both ends
// tell the sections, but only to a peer that has proven the secret.
func (t *Talk) compareSections() error {
	names := differing(t.Mine.Sections, t.Theirs.Sections)
	if len(names) == 0 {
		return nil
	}
	mine := t.Mine.settings(names)
	text, err := json.Marshal(mine)
	if err != nil || len(text) > maxSettings {
		text, mine = []byte("{}"), nil
	}
	if err := t.Say(aboutSettings, text); err != nil {
		return err
	}
	if text, err = t.Expect(aboutSettings, maxSettings); err != nil {
		return err
	}
	theirs, err := parseSettings(text)
	if err != nil {
		return t.Refuse(Refusal(Protocol, "%v", err))
	}
	no := &RefusedError{
		Reason: OtherSection, Section: names[0],
		Detail: describeSections(names, mine, theirs), Advice: t.Mine.advice(names),
	}
	for _, d := range settings.Differences(theirs, mine) {
		if d.Key != parentKey {
			continue
		}
		if no.Advice = otherParent; d.Now != `""` && d.Now != "" { // the run that was left may well be there
			no.Reason = OtherLineage
		}
	}
	return t.Refuse(no)
}

// differing returns the names of the sections that differ, in order: the same list at both ends.
func differing(mine, theirs []SectionSum) []string {
	var names []string
	for _, s := range slices.Concat(mine, theirs) {
		if !(slices.Contains(mine, s) && slices.Contains(theirs, s)) {
			names = append(names, Printable(s.Name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// settings returns the named sections, without those that would make a message too long.
func (h *Hello) settings(names []string) map[string]json.RawMessage {
	told, room := make(map[string]json.RawMessage), maxSettings-len("{}")
	for _, s := range h.full {
		size := len(s.Name) + len(s.JSON) + len(`"":,`)
		if slices.Contains(names, s.Name) && json.Valid(s.JSON) && size <= room {
			told[s.Name] = s.JSON
			room -= size
		}
	}
	return told
}

// advice returns the fix for sections that differ. Different data may be due to different run
// files.
func (h *Hello) advice(names []string) string {
	advice := sameFile
	for _, s := range h.full {
		switch {
		case !slices.Contains(names, s.Name):
		case s.Name == settings.ScriptSection && s.Advice == "":
			advice = sameScript
		case s.Advice == "":
			return sameFile
		default:
			advice = s.Advice
		}
	}
	return advice
}

// parseSettings decodes the sections of an admitted peer.
func parseSettings(text []byte) (map[string]json.RawMessage, error) {
	var told map[string]json.RawMessage
	if err := json.Unmarshal(text, &told); err != nil || len(told) > MaxSections {
		return nil, errSettingsForm
	}
	return told, nil
}

// describeDifferences names the settings that differ, with both values, for users.
func describeDifferences(names []string, mine, theirs map[string]json.RawMessage) string {
	var parts []string
	for _, d := range settings.Differences(theirs, mine) {
		here, there := unlike(d.Now, d.Then)
		parts = append(parts, fmt.Sprintf("%s is %s here and %s there", fit(d.Key), here, there))
	}
	if len(parts) == 0 { // too long to list
		return fmt.Sprintf("section %s of the run file differs", strings.Join(names, ", "))
	}
	if more := len(parts) - mostNamed; more > 0 {
		parts = append(parts[:mostNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// unlike shortens two values to the part that differs.
func unlike(a, b string) (string, string) {
	a = cmp.Or(a, "not set")
	b = cmp.Or(b, "not set")
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	if skip := same - widest/2; skip > 0 && max(len(a), len(b)) > widest {
		a, b = "..."+a[skip:], "..."+b[skip:]
	}
	return fit(a), fit(b)
}

// fit shortens a text and makes it printable.
func fit(s string) string {
	if runes := []rune(s); len(runes) > widest {
		s = string(runes[:widest]) + "..."
	}
	return Printable(s)
}
