package reproduce

import (
	"slices"

	"gossiptrainer/app/advice"
)

// Names returns the names of the papers.
func Names() []string {
	var names []string
	for _, p := range Papers() {
		names = append(names, p.Name)
	}
	return names
}

// Papers returns all papers.
func Papers() []Paper { return []Paper{moniqua(), alq(), orq(), mqgrad(), d2()} }

// Find returns a paper and one of its sizes. Unknown names are usage errors that list the known ones.
func Find(name, size string) (Paper, Size, error) {
	papers := Papers()
	i := slices.IndexFunc(papers, func(p Paper) bool { return p.Name == name })
	if i < 0 {
		return Paper{}, Size{}, advice.OneOf("reproduce: paper", name, Names())
	}
	k := slices.IndexFunc(papers[i].Sizes, func(s Size) bool { return s.Name == size })
	if k < 0 {
		return Paper{}, Size{}, advice.OneOf("reproduce: --size", size, SizeNames())
	}
	return papers[i], papers[i].Sizes[k], nil
}
