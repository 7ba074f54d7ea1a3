package peer

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/node"
)

// KeyPath returns the file of the private key: the given one, or the user's own.
func KeyPath(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("id: no place for a key: %w", err)
	}
	return filepath.Join(dir, "gossiptrainer", "peer.key"), nil
}

// nodeOptions returns the options in a run file.
func nodeOptions(run *experiment.Run) node.Options {
	cfg := run.Config()
	o := node.Options{
		RunID: configs.RunID(cfg.Name), N: run.N(), Dim: run.Dim(),
		Listen: cfg.Node.Listen, Detect: time.Duration(cfg.Node.Detect),
		Transport: cfg.Node.Transport, Security: cfg.Node.Security, Network: run.Network(),
	}
	o.Trusted, _ = cfg.Node.Nets() // the rules of run files have checked them
	for _, s := range run.PeerSections() {
		o.Sections = append(o.Sections, node.Section{Name: s.Name, JSON: s.JSON})
	}
	for _, p := range cfg.Peers {
		o.Roster = append(o.Roster, node.Peer{ID: p.ID, Addrs: p.Addrs})
	}
	return o
}
