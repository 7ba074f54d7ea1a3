//go:build !linux && !darwin && !windows

package screen

import "os"

// A keyboard is that of the terminal that a file leads to. Here typed text is shown between the lines.
type keyboard struct{ in *os.File }

func (k *keyboard) hush()    {}
func (k *keyboard) restore() {}
