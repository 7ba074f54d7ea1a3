package peer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/node"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
)

// On a LAN a machine has its own data, key and secret, which the other machines may not expect.

const makeSecret = "peer id secret lan.secret makes one; copy it to every machine, and set " +
	"node.join_secret_file: lan.secret"

// Secret returns the join secret of a run on a LAN. It may be empty only if the run has a roster.
func Secret(loaded *configs.Loaded) (string, error) {
	cfg := loaded.Config
	key, secret := "node.join_secret", cfg.Node.JoinSecret
	if file := cfg.Node.JoinSecretFile; file != "" {
		var err error
		if secret, err = identity.ReadSecret(file); errors.Is(err, fs.ErrNotExist) {
			hint := advice.Command("peer", "id", "secret", file) + " makes it; every machine needs the same"
			return "", advice.With(err, hint)
		} else if _, weak := errors.AsType[*identity.WeakError](err); weak {
			makes := advice.Command("peer", "id", "secret", file)
			hint := "remove it, then " + makes + " makes one; every machine needs the same"
			return "", advice.With(err, hint)
		} else if err != nil {
			return "", err
		}
		key = "node.join_secret_file"
	}
	problem := configs.Problem{Key: key, Hint: makeSecret}
	none := strings.TrimSpace(secret) == ""
	weak := identity.CheckSecret(secret)
	switch {
	case secret == configs.Masked:
		problem.Message = "the secret itself is not here: run folders and commands mask it"
		problem.Hint = "give it with --set node.join_secret_file=FILE"
	case none && cfg.Views():
		problem.Message = "is empty: anybody could join this run, whose members come and go"
	case none && len(cfg.Peers) == 0 && cfg.Topology.Size > 1:
		problem.Message = "is empty, and there is no roster: anybody could join this run"
	case none:
		return "", nil
	case weak != nil:
		problem.Message = weak.Error()
	default:
		return secret, nil
	}
	return "", loaded.Locate(&configs.Error{Problems: []configs.Problem{problem}})
}

// OwnFolder puts the rank of this machine into data.dir, if the run file names a folder per rank.
func OwnFolder(loaded *configs.Loaded) error {
	cfg := &loaded.Config
	if !cfg.Data.PerRank() {
		return nil
	}
	if len(cfg.Peers) == 0 || cfg.Views() { // then peers are those to call
		return loaded.Locate(configs.Errorf(cfg.Data.FolderKey(), "without a roster this machine has no rank before "+
			"it has shown its data: name its own, as in --set %s=NAME", cfg.Data.FolderKey()))
	}
	path, err := KeyPath(cfg.Node.Key)
	if err != nil {
		return err
	}
	who, err := identity.Read(path)
	if err != nil {
		return err
	}
	rank := slices.IndexFunc(cfg.Peers, func(p configs.Peer) bool { return p.ID == who.ID() })
	if rank < 0 {
		return loaded.Locate(configs.Errorf("peers", "this machine's id %s is not in the roster", who.ID()))
	}
	cfg.Data = cfg.Data.OfRank(rank)
	return nil
}

// LANOptions returns the options of a peer on a LAN, from its run file and its machine. All peers must have the version
// of the program, "" for any.
func LANOptions(run *experiment.Run, secret, version string) (node.Options, error) {
	o := nodeOptions(run)
	if version != "" {
		o.Sections = append(o.Sections, node.Section{Name: "program", JSON: strconv.AppendQuoteToASCII(nil, version),
			Advice: handshake.SameProgram})
	}
	held, err := run.Data().Held()
	if err != nil {
		return o, err
	}
	if held != nil {
		o.Sections = append(o.Sections, node.Section{Name: "data set", JSON: held, Advice: dataAdvice(run.Config())})
	}
	o.JoinSecret = secret
	o.Host, _ = os.Hostname() // without a name the hello has no name
	return o, nil
}

// ownFiles names the file or the folder with the data of this machine.
func ownFiles(d configs.Data) string {
	if d.Name == "file" {
		return d.Path
	}
	return d.Dir
}

// dataAdvice says what to do if machines hold different data.
func dataAdvice(cfg configs.Config) string {
	if cfg.Data.Partition == "local" {
		return fmt.Sprintf("this machine reads %s: write the same columns in the same order into the files of all "+
			"machines, or choose them with data.features and data.skip; set data.dimension, data.labels and data.indices "+
			"in the run file of every machine to what all their files need together", ownFiles(cfg.Data))
	}
	what := "copy the same files to all machines"
	if cfg.Data.Own() {
		what += ", or set data.partition: local, with which each machine trains on all rows of its own"
	}
	return what
}
