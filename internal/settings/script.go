package settings

import (
	"encoding/json"
	"fmt"

	"gossiptrainer/internal/human"
)

// ScriptSection is the name of the section whose JSON is a Script.
const ScriptSection = "script"

// A Script describes the vector that a user's script trains. Two scripts fit if their hashes are equal; the rest says
// how they differ.
type Script struct {
	Elements int    `json:"elements"`
	Exact    int    `json:"exact,omitempty"` // of the elements, those that always travel in full precision
	Hash     string `json:"hash"`            // of names and shapes
	// List has the first tensors in order, as "name [shape]".
	List    []string `json:"list"`
	Tensors int      `json:"tensors"`
	// Same is a hash of the values that do not travel, where members come and go.
	Same string `json:"same,omitempty"`
}

// Bounds of a script's texts: bytes of the list, characters of a tensor and of a hash in a message.
const (
	mostListed = 12 << 10
	widest     = 64
	hashShown  = 12
)

// Add counts a tensor, and lists it if there is room.
func (s *Script) Add(name string, shape []int) {
	listed := 0
	for _, tensor := range s.List {
		listed += len(tensor)
	}
	text := fmt.Sprintf("%s %v", name, shape)
	if len(s.List) == s.Tensors && listed+len(text) <= mostListed {
		s.List = append(s.List, text)
	}
	s.Tensors++
}

func (s *Script) String() string {
	return fmt.Sprintf("%s, %s, hash %s", human.Count(s.Tensors, "tensor"), human.Count(s.Elements, "element"),
		short(s.Hash, hashShown))
}

// tensor returns the text of tensor i, for users.
func (s *Script) tensor(i int) string {
	switch {
	case i < len(s.List):
		return short(s.List[i], widest)
	case i < s.Tensors:
		return "not listed"
	}
	return "missing"
}

func short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}

// DescribeScripts says in what the script of another worker differs from the one here, "" if one of them is no Script.
// The text may have any characters: it comes from another machine.
func DescribeScripts(theirs, mine json.RawMessage) string {
	var here, there Script
	if json.Unmarshal(mine, &here) != nil || json.Unmarshal(theirs, &there) != nil || here.Hash == "" || there.Hash == "" {
		return ""
	}
	if here.Hash == there.Hash && here.Same != there.Same {
		return fmt.Sprintf("its frozen tensors or buffers, which do not travel, have other values: hash %s there and %s "+
			"here: seed the model in the script (torch.manual_seed), and load the same files",
			short(there.Same, hashShown), short(here.Same, hashShown))
	}
	text := fmt.Sprintf("its script has other parameters: %v; here %v", &there, &here)
	for i := range max(len(here.List), len(there.List)) {
		if ours, others := here.tensor(i), there.tensor(i); ours != others {
			return text + fmt.Sprintf("; the first difference is tensor %d, %s there and %s here", i+1, others, ours)
		}
	}
	if here.Exact != there.Exact {
		text += fmt.Sprintf("; %d elements travel in full precision there and %d here", there.Exact, here.Exact)
	}
	return text
}
