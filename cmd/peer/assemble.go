package main

import (
	"gossiptrainer/configs"
	"gossiptrainer/internal/app/machine"
	"gossiptrainer/internal/experiment"
)

// assemble builds the run of a loaded run file; what does not fit together is
// reported where the run file says it.
func assemble(loaded *configs.Loaded) (*experiment.Run, error) {
	run, err := experiment.New(loaded.Config, loaded.Notes()...)
	if err != nil {
		return nil, loaded.Locate(err)
	}
	return run, nil
}

// assembleFor is assemble for sim and lab. It refuses runs that cannot work on this
// machine.
func (f *runFile) assembleFor(mode string, args []string) (*experiment.Run, error) {
	loaded, err := f.load(args)
	if err != nil {
		return nil, err
	}
	run, err := assemble(loaded)
	if err == nil {
		err = loaded.Locate(fits(run, mode, machine.FreeMemory()))
	}
	return run, err
}

// assemble loads the run file and builds its run.
func (f *runFile) assemble(args []string) (*experiment.Run, error) {
	loaded, err := f.load(args)
	if err != nil {
		return nil, err
	}
	return assemble(loaded)
}

// assembleOwn is assemble for a peer on a LAN, which may have files of its own and has a secret.
func (f *runFile) assembleOwn(args []string) (run *experiment.Run, secret string, err error) {
	loaded, err := f.load(args)
	if err != nil {
		return nil, "", err
	}
	if secret, err = secretOf(loaded); err != nil {
		return nil, "", err
	}
	if err := ownFolder(loaded); err != nil {
		return nil, "", err
	}
	if run, err = assemble(loaded); err == nil {
		err = loaded.Locate(fits(run, "run", machine.FreeMemory()))
	}
	return run, secret, err
}
