// Command peer trains models by gossip: one peer of a run, all of them on this machine, or the same run in a simulator.
//
// It parses flags, assembles runs and prints. Other packages do the work.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], newConsole())) }
