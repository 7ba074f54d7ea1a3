package runfolder

import (
	"fmt"
	"path/filepath"

	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/atomicfile"
)

// viewsName is the name of the log of views in a run folder.
const viewsName = "views.jsonl"

// ViewsPath returns where the log of views of a run is, in its folder.
func ViewsPath(dir string) string { return filepath.Join(dir, viewsName) }

// WriteViews writes a log of views into a folder.
func WriteViews(dir string, log *view.Log) error {
	var text []byte
	for v := range log.Len() {
		var err error
		if text, err = view.Append(text, *log.At(v)); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	if err := atomicfile.Write(ViewsPath(dir), text, Readable); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}
