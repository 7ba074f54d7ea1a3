package handshake

import (
	"encoding/json"
	"maps"
	"slices"

	"gossiptrainer/internal/settings"
)

// sameScript is the fix for scripts that differ.
const sameScript = "start the same script on every machine"

// describeSections names the differences between sections, with both values, for users. Scripts come
// first, since a reader cannot compare their hashes.
func describeSections(names []string, mine, theirs map[string]json.RawMessage) string {
	const script = settings.ScriptSection
	text := Printable(settings.DescribeScripts(theirs[script], mine[script]))
	if text == "" {
		return describeDifferences(names, mine, theirs)
	}
	rest := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == script })
	if len(rest) == 0 {
		return text
	}
	mine, theirs = maps.Clone(mine), maps.Clone(theirs)
	delete(mine, script)
	delete(theirs, script)
	return text + "; " + describeDifferences(rest, mine, theirs)
}
