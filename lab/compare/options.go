package compare

import (
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/lab/rehearse"
)

// Options configure a comparison.
type Options struct {
	Dir      string   // of the results; "": the name of the comparison
	Mode     string   // sim or lab; "": that of the comparison
	Only     []string // labels of the cells that are run; none: all
	Shard    Shard    // of the cells that are run
	Set      []string // keys of the run file, as key=value, for all cells
	Data     Places
	Script   []string // the command that trains external models; none: they are built in
	Jobs     int      // simulated cells that run side by side, as far as memory allows; 0: one for each core
	Remake   Remaking // of cells whose results may differ now
	Process  Process
	Talk     io.Writer       // gets lines about the progress of the comparison
	Progress func() Progress // made for each process, which shows it
}

// A Remaking says whether finished cells run again if they were made by a program whose results may differ.
type Remaking bool

// A Process describes the process of a cell: this program, as "lab" or "sim".
type Process struct {
	Program  string // its file
	Version  string
	Command  string // how the comparison was started, without secrets and folders of the user
	Failed   int    // exit code of a failure in this process
	Diverged int    // exit code of a run that diverged
	Links    rehearse.Links
}

// A Progress shows a line in place of the last one. Where that is not possible it shows
// few of them.
type Progress interface {
	Tell(text string, now time.Time)
	Clear()
}

// options returns o with its defaults, checked against a comparison.
func (o Options) options(file *configs.Comparison) (Options, error) {
	if o.Dir == "" {
		o.Dir = file.Name
	}
	if o.Mode == "" {
		o.Mode = file.Mode
	} else if o.Mode != "sim" && o.Mode != "lab" {
		return o, advice.OneOf("compare: --mode", o.Mode, []string{"sim", "lab"})
	}
	switch {
	case o.Jobs < 0 || o.Jobs > 1 && o.Mode == "lab":
		return o, advice.Usagef("compare: --jobs %d: want at least 1, and only 1 for real peers, which would disturb "+
			"each other's times", o.Jobs)
	case o.Mode == "lab":
		o.Jobs = 1
	case o.Jobs == 0:
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	if o.sets("seed") {
		return o, advice.Usagef("compare: --set seed: cells have the seeds of the file, " +
			"which would all become one: change its list of seeds")
	}
	var labels []string
	for _, a := range file.Algorithms {
		labels = append(labels, a.Label)
	}
	for _, only := range o.Only {
		if !slices.Contains(labels, only) {
			return o, advice.OneOf("compare: --only", only, labels)
		}
	}
	if len(o.Only) == 0 {
		o.Only = labels
	}
	return o, nil
}

// sets reports whether a key has one value in all cells.
func (o Options) sets(key string) bool {
	return slices.ContainsFunc(o.Set, func(s string) bool { return strings.HasPrefix(s, key+"=") })
}

// CommandLine returns the command line of this program, without the secrets and folders of its user.
func CommandLine(args []string) string {
	shown := []string{"peer"}
	for _, arg := range args[1:] {
		if key, _, given := strings.Cut(arg, "="); given && configs.Private(strings.TrimPrefix(key, "--set=")) {
			arg = key + "=..."
		}
		shown = append(shown, withoutHome(arg))
	}
	return advice.Command(shown...)
}

// withoutHome writes ~ for the home folder of the user.
func withoutHome(text string) string {
	home, err := os.UserHomeDir()
	if err != nil || len(home) < 2 {
		return text
	}
	return strings.ReplaceAll(text, home, "~")
}
