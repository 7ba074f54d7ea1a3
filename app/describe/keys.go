package describe

import (
	"fmt"
	"io"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/human"
)

// Origins returns the origins of all keys, with the value of each auto in this run, if the run can be assembled.
func Origins(loaded *configs.Loaded) []configs.Origin {
	origins := loaded.Origins()
	run, err := experiment.New(loaded.Config)
	if err != nil {
		return origins
	}
	now := run.Config()
	for i, o := range origins {
		switch {
		case o.Key == "topology.slack" && loaded.Config.Topology.Slack != now.Topology.Slack:
			origins[i].Origin += fmt.Sprintf(": %v here", float64(now.Topology.Slack))
		case o.Key == "algorithm.gamma" && loaded.Config.Algorithm.Gamma != now.Algorithm.Gamma:
			origins[i].Origin += fmt.Sprintf(": %v here", float64(now.Algorithm.Gamma))
		}
	}
	return origins
}

// WriteOrigins prints a line per key.
func WriteOrigins(w io.Writer, origins []configs.Origin) error {
	t := human.AlignLeft(w)
	for _, o := range origins {
		fmt.Fprintf(t, "%s\t%s\t# %s\n", o.Key, o.Value, o.Origin)
	}
	return t.Flush()
}

// WriteReference prints two lines per key: its default, and its meaning.
func WriteReference(w io.Writer, keys []configs.Key) error {
	for _, k := range keys {
		fmt.Fprintf(w, "%s: %s", k.Name, k.Default)
		if k.Same {
			io.WriteString(w, "   [same on all peers]")
		}
		fmt.Fprintf(w, "\n    %s", k.Description)
		if k.Allowed != "" {
			fmt.Fprintf(w, "; %s", k.Allowed)
		}
		if k.Variable != "" {
			fmt.Fprintf(w, "; %s", k.Variable)
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	return nil
}

// An Entry is a run file or a comparison in this program.
type Entry struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	About string `json:"about"`
}

// EmbeddedFiles lists the run files and comparisons in this program.
func EmbeddedFiles() []Entry {
	var all []Entry
	for _, p := range configs.Presets() {
		all = append(all, Entry{p.Name, "run file", p.About})
	}
	for _, p := range configs.Comparisons() {
		all = append(all, Entry{p.Name, "comparison", p.About})
	}
	return all
}

// WriteEntries prints a line per file.
func WriteEntries(w io.Writer, all []Entry) error {
	t := human.AlignLeft(w)
	for _, e := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\n", e.Name, e.Kind, e.About)
	}
	return t.Flush()
}
