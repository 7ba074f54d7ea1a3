package reproduce

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"

	"github.com/goccy/go-yaml"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
)

// versionFile holds the version of a part, in its folder, once all its cells are finished.
const versionFile = "version"

// digest returns the first eight digits of a hash of words.
func digest(words ...any) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, words...)))[:8]
}

// load reads the comparison of a part.
func (p Part) load() (*configs.Comparison, error) {
	file, err := configs.LoadComparison(p.Comparison, os.Environ())
	if err == nil && p.Loss > 0 {
		file.Targets.Loss, file.Levels.Loss = p.Loss, nil
	}
	if err == nil && p.Seeds > 0 {
		file.Seeds = file.Seeds[:min(p.Seeds, len(file.Seeds))]
	}
	return file, err
}

// Version names what decides the results of a part: the settings of its cells, and those of the run file from which
// they start. Results with another version are older than the comparison.
func (p Part) Version() (string, error) {
	file, err := p.load()
	if err != nil {
		return "", err
	}
	base, err := presetVersion(file.Base, p.Set)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{base, file.Mode, file.Cells(), file.Tuning, file.Targets, file.Levels})
	return digest(string(text)), err
}

// results returns the version of the results of this program in a part, the newest of its algorithms.
func (p Part) results() (newest int, err error) {
	file, err := p.load()
	if err != nil {
		return 0, err
	}
	for _, cell := range file.Cells() {
		for _, set := range cell.Set {
			if set.Key == "algorithm.name" {
				newest = max(newest, experiment.ResultsVersion(set.Value))
			}
		}
	}
	return newest, nil
}

// presetVersion is the version of runs from a preset with some settings. It follows what the preset says, and neither
// its comments nor the defaults of other keys.
func presetVersion(name string, set []string) (string, error) {
	for _, p := range configs.Presets() {
		if p.Name != name {
			continue
		}
		var says any
		if err := yaml.Unmarshal(p.Text, &says); err != nil {
			return "", fmt.Errorf("reproduce: %s: %w", name, err)
		}
		text, err := json.Marshal(says)
		return digest(string(text), set), err
	}
	return "", fmt.Errorf("reproduce: %s is no preset", name)
}

// claimsVersion names the checks of all claims.
func (p Paper) claimsVersion() string {
	var all []any
	for _, c := range p.Claims {
		all = append(all, c.Words, c.Checks)
	}
	return digest(all...)
}

// versionsAre stands above the list of versions below a table of claims.
const versionsAre = "Versions of the claims and of the parts that ran:"
