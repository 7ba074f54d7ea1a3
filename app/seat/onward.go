package seat

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/gossip/view"
)

// Onward returns the settings, as KEY=VALUE, with which a run goes on without a majority. It begins with the model that
// a machine has kept in its run folder, and names the last view there. A user's settings go behind them.
func Onward(dir string, cfg configs.Config) ([]string, error) {
	parent, err := lastView(dir)
	if err != nil {
		return nil, advice.Usage(fmt.Errorf("--without-majority: %w", err), "name the run folder of this machine in the run "+
			"that has lost its majority, as "+cfg.Output.Dir+"/"+cfg.Name+"-DATE-TIME")
	}
	set := []string{"membership.parent=" + parent.String(), fmt.Sprint("topology.size=", cfg.Membership.Min)}
	if len(cfg.Peers) > 0 {
		set = append(set, "peers=[]") // some of them are gone
	}
	if !cfg.LearnsFromData() {
		return set, nil // the script, or the seed, says where it starts
	}
	kept, there := runfolder.NewestModel(dir)
	if !there {
		return nil, advice.With(fmt.Errorf("--without-majority: %s has no model of a member", dir), "a machine writes its "+
			"model as its process ends: end it with Ctrl-C first")
	}
	kept, err = filepath.Abs(kept)
	return append(set, "train.from="+kept), err
}

// lastView returns lineage and number of the last view in the log of a run folder.
func lastView(dir string) (view.Parent, error) {
	text, err := os.ReadFile(runfolder.ViewsPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return view.Parent{}, fmt.Errorf("%s has no log of views", dir)
	} else if err != nil {
		return view.Parent{}, err
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	last, err := view.Parse(lines[len(lines)-1])
	switch {
	case err != nil:
		return view.Parent{}, fmt.Errorf("%s: line %d: %w", runfolder.ViewsPath(dir), len(lines), err)
	case last.End:
		return view.Parent{}, fmt.Errorf("the run in %s has ended for all: a new run with another name and with train.from "+
			"goes on from its model", dir)
	}
	return view.Parent{Lineage: last.Lineage, View: last.View}, nil
}
