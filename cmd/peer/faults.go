package main

import (
	"github.com/spf13/cobra"

	"gossiptrainer/configs"
)

// addFaults adds the flag of commands that play a script.
func (f *runFile) addFaults(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.faults, "fault", nil,
		"a fault made on purpose, as an entry of faults.script: `'at=40 kill=3'`; may be repeated")
}

// unplayed refuses a script in a command in which nobody could play it.
func unplayed(loaded *configs.Loaded) error {
	if len(loaded.Config.Faults.Script) == 0 {
		return nil
	}
	return loaded.Locate(configs.Errorf("faults.script", "nobody plays it on peers that are started one by one: "+
		"leave it out, or use peer lab or peer sim, which start all of them"))
}
