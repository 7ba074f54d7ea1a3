// Package bridge lends a worker's objective to a program of the user: a script in Python or any other language.
//
// The peer starts the script as its child and speaks with it over a Unix socket. Parameters travel through memory that
// both map, or over the socket where the system has no such memory. The script takes its own local step, and the bridge
// returns the step, x before − x after, as the update direction of the round.
//
// docs/format/bridge.md describes the messages. The package knows no gossip and no run file.
package bridge
