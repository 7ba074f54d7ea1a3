package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/peer"
	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/machine"
	"gossiptrainer/node/identity"
)

// open reads the run file and assembles its run.
func (p *subject) open() []Row {
	var err error
	if p.loaded, err = p.Load(); err != nil {
		return []Row{failure("run file", err, "peer config check names the place")}
	}
	if err = peer.OwnFolder(p.loaded); err != nil {
		return []Row{failure("data", err, "name the data of this machine with --set")}
	}
	p.run, err = session.Assemble(p.loaded)
	if err == nil {
		return []Row{ok("run file", "%s, %d workers", p.run.Config().Name, p.run.N())}
	}
	if aboutData(err) {
		return []Row{judgeData(p.loaded.Config, err)}
	}
	return []Row{failure("run file", err, "peer config check names the place")}
}

// aboutData reports whether an error is about the files of a data set.
func aboutData(err error) bool {
	return advice.Is[*data.MissingError](err) || advice.Is[*data.ChecksumError](err) || advice.Is[*data.FormatError](err)
}

// own checks secret and key, and prepares the links.
func (p *subject) own() []Row {
	cfg := p.loaded.Config
	secret, err := peer.Secret(p.loaded)
	p.secret = err == nil
	rows := []Row{judgeSecret(cfg, err)}
	if p.run != nil {
		missing := p.run.Data().Find()
		if p.links, err = peer.LANOptions(p.run, secret, ""); missing == nil {
			missing = err
		}
		p.links.JoinSecret = secret
		p.links.Host, _ = os.Hostname() // without a name the others see the id
		rows = append(rows, judgeData(cfg, missing))
	}
	return append(rows, p.key())
}

// judgeSecret judges the join secret by the error that its use gives.
func judgeSecret(cfg configs.Config, err error) Row {
	file := cfg.Node.JoinSecretFile
	if err != nil {
		fix := "peer id secret makes one"
		if info, gone := os.Stat(file); gone == nil && info.Mode().Perm()&0o077 != 0 {
			fix = fmt.Sprintf("chmod 600 %s; if others may have read it, make a new one with peer id secret and copy it "+
				"to all machines", file)
		}
		return failure("secret", err, fix)
	}
	switch {
	case file != "":
		return ok("secret", "%s, only for its owner", file)
	case cfg.Node.JoinSecret != "":
		return complaint("secret", Look, "it stands in the run file, which all who can read that file know",
			"peer id secret lan.secret, and node.join_secret_file: lan.secret")
	}
	return ok("secret", "none: the roster says who belongs")
}

// judgeData judges the data of the run by the error that reading them gives.
func judgeData(cfg configs.Config, err error) Row {
	switch {
	case err != nil:
		return failure("data", err, "peer data verify names damaged files, peer data fetch gets them again")
	case cfg.External():
		return ok("data", "your script reads them")
	}
	return ok("data", "%s can be read", cfg.Data.Name)
}

// key checks the identity of this machine. It claims nothing: a peer with the same key may be running.
func (p *subject) key() Row {
	path, err := peer.KeyPath(p.loaded.Config.Node.Key)
	if err != nil {
		return failure("key", err, "set node.key to a file")
	}
	who, err := identity.Read(path)
	if err == nil {
		p.mine = ownKey{path, who.ID()}
	}
	roster := p.loaded.Config.Peers
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(roster) == 0:
		return ok("key", "none yet: peer run makes %s", path)
	case errors.Is(err, fs.ErrNotExist):
		return complaint("key", Broken, path+" does not exist, and the roster names keys",
			"peer id new --key "+path+", and the id that it prints under peers:, or node.key with the file of a key there")
	case err != nil:
		return failure("key", err, "chmod 600 "+path)
	}
	if len(roster) == 0 {
		return ok("key", "%s in %s", who.ID(), path)
	}
	rank := slices.IndexFunc(roster, func(p configs.Peer) bool { return p.ID == who.ID() })
	if rank < 0 {
		return complaint("key", Broken, fmt.Sprintf("%s is the id of the key in %s, and the roster has others", who.ID(),
			path),
			"name the file of a key in the roster with node.key, or put this id under peers: on all machines")
	}
	p.links.Identity = who
	return ok("key", "%s in %s: worker %d", who.ID(), path, rank)
}

// store checks the disks and folders to which the run writes.
func (p *subject) store() []Row {
	warning, err := session.CheckRoom(p.run, "run")
	return []Row{judgeRoom(warning, err, p.run.Config().Output.Dir), judgeFolder(p.run.Config())}
}

// judgeRoom judges the room on disks.
func judgeRoom(warning string, err error, dir string) Row {
	const fix = "make room, or set output.dir or checkpoint.dir to a disk with more"
	switch {
	case err != nil:
		return failure("disk", err, fix)
	case warning != "":
		return complaint("disk", Look, warning, fix)
	}
	if free, known := machine.FreeBytes(machine.Nearest(dir)); known {
		return ok("disk", "%s free for %s", human.Size(free), dir)
	}
	return ok("disk", "this system does not tell how much is free")
}

// judgeFolder checks that files can be made where the run will write.
func judgeFolder(cfg configs.Config) Row {
	for key, dir := range map[string]string{"output.dir": cfg.Output.Dir, "checkpoint.dir": cfg.Checkpoint.Dir} {
		if dir == "" {
			continue
		}
		try, err := os.MkdirTemp(machine.Nearest(dir), ".doctor-*")
		if err != nil {
			return complaint("output", Broken, fmt.Sprintf("%s: %v", key, errors.Unwrap(err)),
				fmt.Sprintf("let this user write to %s, or set %s to another folder", machine.Nearest(dir), key))
		}
		_ = os.Remove(try) // empty
	}
	return ok("output", "%s can be written", cfg.Output.Dir)
}
