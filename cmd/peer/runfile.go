package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/script"
	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/safefile"
)

// runFile is the FILE argument and the --set flag of commands that take a run file.
type runFile struct {
	name   string
	set    []string
	faults []string
	script []string // the command after --

	resume bool
	folder string // of the run to resume, if the user named it
	scored bool   // an accuracy ends the run
}

// addFlags adds the flags and completes the argument with the presets.
func (f *runFile) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "override a key of the run file, as in `key=value`; may be repeated")
	cmd.ValidArgsFunction = completeNames(configs.Presets())
	_ = cmd.RegisterFlagCompletionFunc("set", completeKeys)
}

// load reads the run file that the argument names. Without an argument it reads a preset.
func (f *runFile) load(args []string) (*configs.Loaded, error) {
	f.name = defaultPreset
	if len(f.script) > 0 {
		f.name = scriptPreset
	}
	if args = args[:len(args)-len(f.script)]; len(args) > 0 {
		f.name = args[0]
	}
	file := f.name
	if info, err := os.Stat(file); f.resume && err == nil && info.IsDir() {
		f.folder, file = file, filepath.Join(file, runfolder.RunFile)
		if err := safefile.Check(file); err != nil {
			return nil, advice.Usage(
				fmt.Errorf("--resume: %s is not a run folder: %w", f.folder, err),
				"name a folder that peer lab or peer run has printed, or the run file",
			)
		}
	}
	loaded, err := f.read(file)
	if err == nil && f.scored && loaded.Config.Output.Evaluate == 0 && loaded.Config.LearnsFromData() {
		f.set = append(f.set, fmt.Sprintf("output.evaluate=%d", usualEvaluate))
		return f.read(file)
	}
	return loaded, err
}

// usualEvaluate is the number of rounds between evaluations where an accuracy ends a run, and its file says none.
const usualEvaluate = 20

func (f *runFile) read(file string) (*configs.Loaded, error) {
	return configs.Load(configs.Source{File: file, Env: os.Environ(), Set: f.set, Faults: f.faults})
}

// The run files of commands without one. The second is for the user's own script.
const (
	defaultPreset = "ring8"
	scriptPreset  = "script"
)

// command returns a command line for the same run with other words. It shows no secret.
func (f *runFile) command(words ...string) string {
	words = append([]string{"peer"}, words...)
	words = append(words, f.name)
	for _, s := range f.set {
		words = append(words, "--set", s)
	}
	for _, fault := range f.faults {
		words = append(words, "--fault", fault)
	}
	return advice.Command(slices.Concat(words, script.After(f.script))...)
}

// assembleFor is assemble for sim and lab. It refuses runs that cannot work on this machine.
func (f *runFile) assembleFor(mode string, args []string) (*experiment.Run, error) {
	loaded, err := f.load(args)
	if err == nil && mode != "sim" {
		err = script.Check(loaded, f.script, f.command(mode))
	}
	if err != nil {
		return nil, err
	}
	return session.AssembleHere(loaded, mode)
}

// assemble loads the run file and builds its run.
func (f *runFile) assemble(args []string) (*experiment.Run, error) {
	loaded, err := f.load(args)
	if err != nil {
		return nil, err
	}
	return session.Assemble(loaded)
}

// again returns the command that repeats a finished run in another mode.
func (f *runFile) again(s *session.Session, mode string) string {
	rounds := s.Shorter()
	if rounds == 0 || s.Run.Method().Asynchronous() {
		return f.command(mode)
	}
	cfg := s.Run.Config()
	shorter := cfg.Shortened(rounds)
	as := runFile{name: f.name, set: slices.Concat(f.set, shorter), script: f.script}
	if len(shorter) == 1 { // with the same script
		as.faults = f.faults
	}
	return as.command(mode)
}

// addFaults adds the flag of commands that play scripts of faults.
func (f *runFile) addFaults(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.faults, "fault", nil,
		"an injected fault, an `entry` like 'at=40 kill=3'; may be repeated")
}
