//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Ports of a peer, and of the exchange in its hub.
const (
	listenPort   = 4001
	exchangePort = 5000 // + rank of the other
)

// address is the peer's end of its cable, gate the hub's end.
func address(rank int) string { return fmt.Sprintf("10.79.%d.2", rank) }
func gate(rank int) string    { return fmt.Sprintf("10.79.%d.1", rank) }

// ip runs the command ip.
func ip(words string, args ...any) error {
	return command("ip", strings.Fields(fmt.Sprintf(words, args...))...)
}

func command(name string, args ...string) error {
	if text, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(text)))
	}
	return nil
}

// within calls f in a network namespace. Sockets that f opens stay in it.
func within[T any](space string, f func() (T, error)) (T, error) {
	var result T
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread keeps the namespace and ends with the goroutine
		file, err := os.Open("/run/netns/" + space)
		if err == nil {
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
			file.Close()
		}
		if err == nil {
			result, err = f()
		}
		done <- err
	}()
	return result, <-done
}

// errNoNamespaces is the reason to skip scenarios that need a network.
var errNoNamespaces = errors.New("needs root, ip and tc")

// available returns nil if this machine can create network namespaces.
func available() error {
	if os.Geteuid() != 0 {
		return errNoNamespaces
	}
	for _, tool := range []string{"ip", "tc"} {
		if command(tool, "-V") != nil {
			return errNoNamespaces
		}
	}
	return nil
}
