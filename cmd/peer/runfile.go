package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/regular"
)

// runFile is the FILE argument and the --set flag of commands that take a run
// file.
type runFile struct {
	name string
	set  []string

	resume bool
	folder string // of the run to go on with, if it was named
}

// addFlags adds the flags and completes the argument with the presets.
func (f *runFile) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "override a key of the run file, as in `key=value`; may be repeated")
	cmd.ValidArgsFunction = completeNames(configs.Presets())
	_ = cmd.RegisterFlagCompletionFunc("set", completeKeys)
}

// load reads the run file: the argument, or the preset ring8 where there is none.
func (f *runFile) load(args []string) (*configs.Loaded, error) {
	f.name = defaultPreset
	if len(args) > 0 {
		f.name = args[0]
	}
	file := f.name
	if info, err := os.Stat(file); f.resume && err == nil && info.IsDir() {
		f.folder, file = file, filepath.Join(file, runfolder.RunFile)
		if err := regular.Check(file); err != nil {
			return nil, advice.Usage(
				fmt.Errorf("--resume: %s is no run folder: %w", f.folder, err),
				"name a folder that peer lab or peer run has printed, or the run file",
			)
		}
	}
	return configs.Load(configs.Source{File: file, Env: os.Environ(), Set: f.set})
}

// defaultPreset is the run of commands that get no run file.
const defaultPreset = "ring8"

// command returns the command line that does something else with the same run. It shows no secret.
func (f *runFile) command(words ...string) string {
	words = append([]string{"peer"}, words...)
	words = append(words, f.name)
	for _, s := range f.set {
		words = append(words, "--set", s)
	}
	return advice.Command(words...)
}
