package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/shards"
)

// Names of the files in a report's folder that repeat the comparison.
const (
	comparisonName = "comparison.yaml"
	baseName       = "base.yaml"
	runsFolder     = "runs" // the run file of every cell, with every key
)

// keepFiles writes the files that repeat the comparison into the report's folder. They are the comparison with flags,
// environment and searches, its base run file, and the run file of every cell. It leaves out secrets and keys that
// belong to this machine.
func (m *Matrix) keepFiles() error {
	files, err := m.portable()
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	for name, text := range files {
		if err := runfolder.WriteBelow(filepath.Join(m.Dir, cells.ReportFolder, name), text); err != nil {
			return fmt.Errorf("compare: %w", err)
		}
	}
	return nil
}

// portable returns the files of keepFiles by name.
func (m *Matrix) portable() (map[string][]byte, error) {
	base, err := configs.Load(configs.Source{File: m.file.Base, Env: os.Environ()})
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	if files[baseName], err = base.Shared(); err != nil {
		return nil, err
	}
	for name, file := range map[string]string{
		configs.EdgesFile: base.Config.Topology.File, configs.StartFile: base.Config.Train.From,
	} {
		if file == "" {
			continue
		}
		if files[name], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	pinned, err := m.pinned()
	if err != nil {
		return nil, err
	}
	if files[comparisonName], err = pinned.YAML(); err != nil {
		return nil, err
	}
	for _, cell := range m.cells {
		loaded, err := m.load(cell)
		if err != nil {
			return nil, err
		}
		files[filepath.Join(runsFolder, cell.ID()+".yaml")] = loaded.Config.Portable()
	}
	return files, nil
}

// pinned returns the comparison of the selected cells without searches or measurements.
func (m *Matrix) pinned() (*configs.Comparison, error) {
	pinned := *m.file
	pinned.Base, pinned.Algorithms = baseName, nil
	pinned.Compute = cost.Compute{Costs: cost.Costs{Gradient: seconds(m.result.Compute)}}.String()
	for _, a := range m.file.Algorithms {
		i := slices.IndexFunc(m.cells, func(c configs.Cell) bool { return c.Label == a.Label })
		if i < 0 {
			continue
		}
		loaded, err := m.load(m.cells[i])
		if err != nil {
			return nil, err
		}
		kept, _ := loaded.All()
		for _, set := range slices.Concat(m.tuned[a.Label], kept) {
			key, value, _ := strings.Cut(set, "=")
			a.Set = append(a.Set[:len(a.Set):len(a.Set)], configs.Override{Key: key, Value: value})
		}
		a.Tune, a.Compute = nil, cost.Compute{Costs: m.costs[a.Label]}.String()
		if a.Compute == pinned.Compute {
			a.Compute = ""
		}
		pinned.Algorithms = append(pinned.Algorithms, a)
	}
	return &pinned, nil
}

// fingerprint notes the data files of a cell.
func (m *Matrix) fingerprint(cfg configs.Config) error {
	if !cfg.LearnsFromData() {
		return nil // has no data
	}
	words, err := seen(m.result.Find, filepath.Join(m.Dir, cells.ReportFolder), cfg.Data)
	if err != nil {
		return err
	}
	m.result.Find = words
	for _, known := range m.result.Data {
		if known.Set == cfg.Data.Name {
			return nil
		}
	}
	if cfg.Data.Name == "glyphs" {
		m.result.Data = append(m.result.Data, cells.DataFile{Set: cfg.Data.Name}) // which is built in
		return nil
	}
	workers := 1
	if cfg.Data.PerRank() {
		workers = cfg.Topology.Size // each has files of its own
	}
	for rank := range workers {
		files, err := sums(cfg.Data.OfRank(rank))
		if err != nil {
			return err
		}
		for _, f := range files {
			file := cells.DataFile{Set: cfg.Data.Name, File: f.File, Size: f.Size, SHA256: f.SHA256}
			if workers > 1 {
				file.File = fmt.Sprintf("worker %d: %s", rank, f.File)
			}
			m.result.Data = append(m.result.Data, file)
		}
	}
	return nil
}

// sums returns the files of a data set with their checksums.
func sums(d configs.Data) ([]data.FileReport, error) {
	if d.Name == "file" {
		return data.FileSums(shards.FileSpec(d))
	}
	root, err := data.Root(d.Dir)
	if err != nil {
		return nil, err
	}
	return data.Sums(d.Name, root)
}
