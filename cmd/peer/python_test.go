package main

import (
	"os"
	"os/exec"
	"testing"
)

// findTorch fails without PyTorch. It does not import it, which takes seconds.
const findTorch = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"

// torchPython returns a Python that has PyTorch.
func torchPython(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	for _, python := range []string{os.Getenv("PEER_PYTHON"), "/usr/bin/python3", "python3"} {
		if python != "" && exec.Command(python, "-c", findTorch).Run() == nil {
			return python
		}
	}
	t.Skip("SKIPPED: no Python has PyTorch: apt install python3-torch, or name one in PEER_PYTHON")
	return ""
}
