package reproduce

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"gossiptrainer/app/advice"
)

// papersFolder holds a file for each paper, NAME.yaml.
const papersFolder = "papers"

//go:embed papers/*.yaml
var files embed.FS

// papers reads all papers once, in the order of their names.
var papers = sync.OnceValue(func() (all []Paper) {
	var err error
	for _, name := range Names() {
		file := path.Join(papersFolder, name+".yaml")
		text, failed := files.ReadFile(file)
		paper, wrong := readPaper(file, text)
		all, err = append(all, paper), errors.Join(err, failed, wrong)
	}
	if err != nil {
		panic("internal error: reproduce: " + err.Error())
	}
	return all
})

// Names returns the names of the papers, those of their files. It reads none, since each start of the program
// puts the names into a help text.
func Names() []string {
	entries, err := files.ReadDir(papersFolder)
	if err != nil {
		panic("internal error: reproduce: " + err.Error())
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Find returns a paper and one of its sizes. Unknown names are usage errors that list the known ones.
func Find(name, size string) (Paper, Size, error) {
	all := papers()
	i := slices.IndexFunc(all, func(p Paper) bool { return p.Name == name })
	if i < 0 {
		return Paper{}, Size{}, advice.OneOf("reproduce: paper", name, Names())
	}
	k := slices.IndexFunc(all[i].Sizes, func(s Size) bool { return s.Name == size })
	if k < 0 {
		return Paper{}, Size{}, advice.OneOf("reproduce: --size", size, SizeNames())
	}
	return all[i], all[i].Sizes[k], nil
}

// readPaper reads the file of a paper, whose name is that of the file. Unknown keys, kinds, networks and parts are
// errors that name the file, and the line or the claim.
func readPaper(file string, text []byte) (Paper, error) {
	p := Paper{Name: strings.TrimSuffix(path.Base(file), ".yaml")}
	err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&p)
	if syntax, ok := errors.AsType[yaml.Error](err); ok {
		return p, fmt.Errorf("%s:%d: %s", file, syntax.GetToken().Position.Line, syntax.GetMessage())
	}
	if err == nil {
		err = p.resolve()
	}
	if err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// resolve checks the words of all checks and printed results, and puts the names of networks in the place of their
// short names.
func (p *Paper) resolve() error {
	var parts []string
	for _, s := range p.Sizes {
		for _, part := range s.Parts {
			parts = append(parts, part.Name)
		}
	}
	known := func(network *string, in []string) error {
		name, ok := p.Networks[*network]
		if !ok && *network != "" {
			return fmt.Errorf("on: %q: want one of %s", *network, list(slices.Sorted(maps.Keys(p.Networks))))
		}
		*network = name
		for _, part := range in {
			if !slices.Contains(parts, part) {
				return fmt.Errorf("in: %q: no size has this part", part)
			}
		}
		return nil
	}
	for _, c := range p.Claims {
		for k := range c.Checks {
			check := &c.Checks[k]
			err := known(&check.Network, check.In)
			if !slices.Contains(kinds, check.Kind) {
				err = fmt.Errorf("is: %q: want one of %s", check.Kind, list(kinds))
			}
			if err != nil {
				return fmt.Errorf("claim %q: %w", c.Words, err)
			}
		}
	}
	for k := range p.Printed {
		printed := &p.Printed[k]
		err := known(&printed.Network, printed.In)
		if !slices.Contains(quantities, printed.What) {
			err = fmt.Errorf("what: %q: want one of %s", printed.What, list(quantities))
		}
		if err != nil {
			return fmt.Errorf("printed %q: %w", printed.Says, err)
		}
	}
	return nil
}

// list writes words with commas between them.
func list[T ~string](words []T) string {
	var all []string
	for _, w := range words {
		all = append(all, string(w))
	}
	return strings.Join(all, ", ")
}
