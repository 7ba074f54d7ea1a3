// Command peer trains models by gossip: one peer of a run, all of them on this machine, or the same run in a simulator.
//
// It parses, assembles and prints; what it runs is in the packages it calls.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], newConsole())) }
