package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// A build says which program this is.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`   // empty where it is not known
	Modified bool   `json:"modified"` // the sources differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuild() build {
	b := build{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String is what people read.
func (b build) String() string {
	return fmt.Sprintf("peer %s\ncommit %s\n%s %s\n", b.Version, orDash(b.Commit), b.Go, b.Platform)
}

func newVersion(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "print which program this is",
		Example: "  peer version --json",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			return c.print(b, func(w io.Writer) error {
				_, err := io.WriteString(w, b.String())
				return err
			})
		},
	}
	c.addJSON(cmd)
	return cmd
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
