package runfolder

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"

	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/safefile"
	"gossiptrainer/topology"
)

// viewsName is the name of the log of views in a run folder.
const viewsName = "views.jsonl"

// ViewsPath returns where the log of views of a run is, in its folder.
func ViewsPath(dir string) string { return filepath.Join(dir, viewsName) }

// membersName is the folder of the members of a lab in a run folder.
const membersName = "members"

// MemberPath returns the folder of a member of a lab, by the number of its process.
func MemberPath(dir string, process int) string {
	return filepath.Join(dir, membersName, strconv.Itoa(process))
}

// OfMember returns the folder of the run, where dir is that of a member of a lab, or else dir.
func OfMember(dir string) string {
	if above := filepath.Dir(dir); filepath.Base(above) == membersName {
		return filepath.Dir(above)
	}
	return dir
}

// WriteViews writes a log of views to a file.
func WriteViews(file string, log *view.Log) error {
	var text []byte
	for v := range log.Len() {
		var err error
		if text, err = view.Append(text, *log.At(v)); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	if err := safefile.Write(file, text, Readable); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// KeepViews writes the text of a log of views into a folder, and returns the log. The graph of the run is base.
func KeepViews(dir string, text []byte, base topology.Spec) (*view.Log, error) {
	log, err := view.Read(bytes.NewReader(text), base)
	if err != nil {
		return nil, fmt.Errorf("views: %w", err)
	}
	return log, WriteViews(ViewsPath(dir), log)
}
