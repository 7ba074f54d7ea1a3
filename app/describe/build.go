package describe

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// A Build identifies the version of this program.
type Build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`   // empty where it is not known
	Modified bool   `json:"modified"` // the sources differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ReadBuild returns the version of this program as noted by the compiler.
func ReadBuild() Build {
	b := Build{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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
func (b Build) String() string {
	return fmt.Sprintf("peer %s\ncommit %s\n%s %s\n", b.Version, cmp.Or(b.Commit, "-"), b.Go, b.Platform)
}
