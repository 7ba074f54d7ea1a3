package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
)

// Places are files and folders in which data are now; none: where the run file says.
type Places []string

// moved returns the overrides with which the run of a source finds its data in the places.
func (p Places) moved(src configs.Source) []string {
	if len(p) == 0 {
		return nil
	}
	loaded, err := configs.Load(src)
	if err != nil || !loaded.Config.LearnsFromData() {
		return nil // the cell says why
	}
	if loaded.Config.Data.Name != "file" {
		return []string{"data.dir=" + p[0]}
	}
	files := loaded.Config.Data.Files()
	var set []string
	for _, key := range []string{"data.path", "data.test"} {
		if path := files[key]; path != "" {
			set = append(set, key+"="+p.find(path, len(files) == 1))
		}
	}
	return set
}

// find returns where a file of the run file is: in a folder of --data, or a path of --data itself. The only file may
// have another name. A file that is in none keeps its path.
func (p Places) find(path string, only bool) string {
	name := filepath.Base(path)
	for _, place := range p {
		if inside := filepath.Join(place, name); exists(inside) {
			return inside
		}
		if filepath.Base(place) == name {
			return place
		}
	}
	if info, err := os.Stat(p[0]); only && err == nil && !info.IsDir() {
		return p[0]
	}
	return path
}

// exists reports whether there is a file of a name, or one for worker 0 if each has its own.
func exists(path string) bool {
	_, err := os.Stat(strings.ReplaceAll(path, configs.RankPattern, "0"))
	return err == nil
}

// check refuses places that hold no data of a run, whose files were looked for there.
func (p Places) check(d configs.Data) error {
	for _, place := range p {
		if !exists(place) {
			return advice.Usagef("compare: --data %s: no such file or folder", place)
		}
	}
	for key, path := range d.Files() {
		if len(p) > 0 && !exists(path) {
			return advice.Usagef("compare: --data %s: it has no %s, which is %s of the comparison",
				strings.Join(p, " "), filepath.Base(path), key)
		}
	}
	return nil
}

// seen adds the places of a run's data, seen from a folder, to the words of a command that repeats it there.
func seen(words, from string, d configs.Data) (string, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return "", fmt.Errorf("compare: %w", err)
	}
	for _, path := range d.Files() {
		path, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("compare: %w", err)
		}
		folder, err := filepath.Rel(from, filepath.Dir(path))
		if err != nil { // on another drive
			folder = filepath.Dir(path)
		}
		if more := advice.Command("--data", folder); !strings.Contains(words, more) {
			words = strings.TrimSpace(words + " " + more)
		}
	}
	return words, nil
}
