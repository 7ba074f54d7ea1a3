package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/describe"
	"gossiptrainer/app/doctor"
	"gossiptrainer/app/peer"
	"gossiptrainer/app/session"
	"gossiptrainer/app/setup/handover"
	"gossiptrainer/configs"
	"gossiptrainer/internal/settings"
)

// program describes this program to other machines.
func program() handover.Program {
	b := describe.ReadBuild()
	return handover.Program{Version: b.Version, Commit: b.Commit, Platform: b.Platform}
}

// hostName returns the name of this machine, "" without one.
func hostName() string {
	name, _ := os.Hostname() // without a name the others see the id
	return name
}

// held returns what the data of a run have to be on all machines, nil where the program cannot know it.
func held(loaded *configs.Loaded) (json.RawMessage, error) {
	if loaded.Config.External() {
		return nil, nil // the script reads its data itself
	}
	if err := peer.OwnFolder(loaded); err != nil {
		return nil, err
	}
	run, err := session.Own(loaded)
	if err != nil {
		return nil, err
	}
	if err := run.Data().Find(); err != nil {
		return nil, err
	}
	return run.Data().Held()
}

// needed returns the files that a run file names besides data.
func needed(loaded *configs.Loaded) ([]handover.File, error) {
	var all []handover.File
	for _, f := range [][2]string{
		{loaded.Config.Topology.File, configs.EdgesFile}, {loaded.Config.Train.From, configs.StartFile},
	} {
		if f[0] == "" {
			continue
		}
		sum, size, err := checksum(f[0])
		if err != nil {
			return nil, err
		}
		all = append(all, handover.File{Name: f[1], SHA256: sum, Bytes: size})
	}
	return all, nil
}

// checksum returns the SHA-256 of a file in hex, and its size.
func checksum(name string) (sum string, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// compareFiles checks that the files which a run needs are in this folder, and the same as on the host.
func compareFiles(files []handover.File, host string) error {
	for _, f := range files {
		fix := fmt.Sprintf("copy %s from %s into this folder, then join again", f.Name, host)
		sum, size, err := checksum(f.Name)
		if errors.Is(err, fs.ErrNotExist) {
			return advice.With(fmt.Errorf("the run needs the file %s of %d bytes beside the run file", f.Name, f.Bytes), fix)
		}
		if err != nil {
			return err
		}
		if sum != f.SHA256 {
			return advice.With(fmt.Errorf("%s differs: here %d bytes with sha256 %.16s, on %s %d bytes with %.16s", f.Name, size,
				sum, host, f.Bytes, f.SHA256), fix)
		}
	}
	return nil
}

// compareData checks that this machine has the data of the host.
func compareData(loaded *configs.Loaded, theirs json.RawMessage, host string) error {
	mine, err := held(loaded)
	if err != nil {
		return dataHint(loaded.Config, err)
	}
	const section = "data set"
	var parts []string
	for _, d := range settings.Differences(map[string]json.RawMessage{section: theirs},
		map[string]json.RawMessage{section: mine}) {
		parts = append(parts, fmt.Sprintf("%s is %.40s here and %.40s on %s", d.Key, d.Now, d.Then, host))
	}
	if len(parts) == 0 {
		return nil
	}
	return dataHint(loaded.Config, errors.New("the data differ: "+strings.Join(parts, "; ")))
}

// dataHint says how to get the data, where an error does not say so itself.
func dataHint(cfg configs.Config, err error) error {
	if cfg.Data.Own() {
		return advice.With(err, nameData(cfg.Data.FolderKey()))
	}
	if hintOf(err) != "" {
		return err
	}
	return advice.With(err, "peer data verify names damaged files, peer data fetch gets them again")
}

// nameData says how a machine names its data.
func nameData(key string) string {
	return "copy the data from the machine that invites, and name them: peer join TOKEN --set " + key + "=PATH"
}

// ofNetwork are the checks whose doubts matter before a run is known.
var ofNetwork = []string{"addresses", "MTU", "multicast"}

// examine lets the doctor look at this machine, side by side with other work. The returned function says its
// complaints.
func examine(ctx context.Context, s Screen) (say func()) {
	found := make(chan *doctor.Report, 1)
	go func() {
		r, _ := doctor.Examine(ctx, doctor.Request{Build: describe.ReadBuild()}) // its error repeats the rows
		found <- r
	}()
	return func() {
		select {
		case r := <-found:
			complaints := &doctor.Report{}
			for _, row := range r.Rows {
				if row.Verdict == doctor.Broken || row.Verdict == doctor.Look && slices.Contains(ofNetwork, row.Check) {
					complaints.Rows = append(complaints.Rows, row)
				}
			}
			complaints.Write(s.Talk)
		case <-ctx.Done():
		}
	}
}

// nameOf returns a name for the files of a run file on other machines.
func nameOf(file string, cfg configs.Config) string {
	base := filepath.Base(file)
	for _, name := range []string{strings.TrimSuffix(base, filepath.Ext(base)), cfg.Name} {
		if handover.ValidName(name) {
			return name
		}
	}
	return "run"
}
