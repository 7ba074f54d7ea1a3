package reproduce

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"

	"gossiptrainer/configs"
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
	return digest(base, file.Mode, file.Cells(), file.Tuning, file.Targets, file.Levels), nil
}

// presetVersion is the version of runs from a run file with some settings.
func presetVersion(file string, set []string) (string, error) {
	loaded, err := configs.Load(configs.Source{File: file, Env: os.Environ(), Set: set})
	if err != nil {
		return "", fmt.Errorf("reproduce: %w", err)
	}
	of := loaded.Config
	of.Data.Dir, of.Checkpoint.Dir = "", ""
	text, err := json.Marshal(of)
	if err != nil {
		return "", fmt.Errorf("reproduce: %w", err)
	}
	return digest(string(text)), nil
}

// claimsVersion names the checks of all claims.
func (p Paper) claimsVersion() string {
	var all []any
	for _, c := range p.Claims {
		all = append(all, c.Words, c.Checks)
	}
	return digest(all...)
}

// versionsAre begins the line of versions in a table of claims.
const versionsAre = "Versions of the claims and of the parts that ran: "
