package configs

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/internal/data"
)

// RankPattern stands for the rank of a worker, or the id of a member, in data.dir, data.path and data.test.
const RankPattern = "{rank}"

// Own reports whether the samples are in files of the user.
func (d Data) Own() bool { return d.Name == "libsvm" || d.Name == "file" }

// PerRank reports whether each worker has a file of its own by its rank.
func (d Data) PerRank() bool { return strings.Contains(d.Dir+d.Path+d.Test, RankPattern) }

// OfRank returns d with the rank of a worker in its names.
func (d Data) OfRank(rank int) Data {
	for _, name := range []*string{&d.Dir, &d.Path, &d.Test} {
		*name = strings.ReplaceAll(*name, RankPattern, strconv.Itoa(rank))
	}
	return d
}

// Files returns the names of the user's files and folders by their keys.
func (d Data) Files() map[string]string {
	files := map[string]string{"data.path": d.Path, "data.test": d.Test}
	maps.DeleteFunc(files, func(_, path string) bool { return d.Name != "file" || path == "" })
	return files
}

// FolderKey returns the key that names the user's files.
func (d Data) FolderKey() string {
	if d.Name == "file" {
		return "data.path"
	}
	return "data.dir"
}

// placeData makes the names of the user's files absolute. They are relative to the run file.
func (l *Loaded) placeData() {
	for key, name := range map[string]*string{"data.path": &l.Config.Data.Path, "data.test": &l.Config.Data.Test} {
		if *name == "" {
			continue
		}
		if from := l.layers[l.level(key)]; from.file != nil && !filepath.IsAbs(*name) {
			*name = filepath.Join(from.dir, *name)
		}
		if path, err := filepath.Abs(*name); err == nil {
			*name = path
		}
	}
}

// dataRules are about the user's own files.
var dataRules = []rule{
	{[]string{"data.partition", "data.name"}, func(c *Config, wrong complain) {
		if c.Data.Partition == "local" && !c.Data.Own() {
			wrong("data.partition", "local is for files of your own: must be iid, labels or dirichlet, "+
				"or the data set file or libsvm, got %s", c.Data.Name)
		}
	}},
	{[]string{"data.dir", "data.path", "data.test", "data.partition"}, func(c *Config, wrong complain) {
		if c.Data.Partition != "local" && c.Data.PerRank() {
			wrong(c.Data.FolderKey(), "%s belongs to the partition local, but the partition is %s",
				RankPattern, c.Data.Partition)
		}
	}},
	{[]string{"data.path", "data.name"}, func(c *Config, wrong complain) {
		if c.Data.Name == "file" && c.Data.Path == "" && c.LearnsFromData() {
			wrong("data.path", "the data set file needs the name of your file: give data.path, as in path: iris.csv")
		}
	}},
	{[]string{"data.standardise", "data.partition"}, func(c *Config, wrong complain) {
		if c.Data.Standardise && c.Data.Partition == "local" {
			wrong("data.standardise", "with the partition local each machine would have a scale of its own: "+
				"scale the files alike before the run")
		}
	}},
	{[]string{"data.encode", "data.standardise"}, func(c *Config, wrong complain) {
		if c.Data.Encode && !c.Data.Standardise {
			wrong("data.encode", "a missing number becomes the mean of its column: needs data.standardise: true")
		}
	}},
	{[]string{"data.labels", "data.name"}, func(c *Config, wrong complain) {
		labels := data.ClassNames(Texts(c.Data.Labels))
		sorted := slices.Clone(labels)
		data.SortClasses(sorted)
		if !slices.Equal(labels, sorted) || len(slices.Compact(sorted)) < len(labels) {
			wrong("data.labels", "must be in ascending order, each once, got %v", c.Data.Labels)
		}
		for _, label := range labels {
			if _, err := strconv.ParseFloat(label, 64); err != nil && c.Data.Name == "libsvm" {
				wrong("data.labels", "labels of libsvm are numbers, got %q", label)
			}
		}
	}},
}
