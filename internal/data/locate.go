package data

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Root returns the folder that holds the data sets: dir if it is given, else the
// environment variable PEER_DATA, else gossiptrainer/data in the user's cache.
func Root(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	if dir = os.Getenv("PEER_DATA"); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("data: no folder for data sets: set PEER_DATA or data.dir: %w", err)
	}
	return filepath.Join(cache, "gossiptrainer", "data"), nil
}

// cifarFolder is the folder in the archive of CIFAR-10's publisher.
const cifarFolder = "cifar-10-batches-bin"

// locate returns the path of the first of the given files that exists in dir's
// folder for the set, or in dir itself.
func locate(set, dir string, names ...string) (string, error) {
	folders := []string{filepath.Join(dir, set), dir}
	if set == "cifar-10" {
		folders = append(folders, filepath.Join(dir, set, cifarFolder), filepath.Join(dir, cifarFolder))
	}
	for _, folder := range folders {
		for _, name := range names {
			path := filepath.Join(folder, name)
			info, err := os.Stat(path)
			if err == nil && info.Mode().IsRegular() {
				return path, nil
			}
			if err != nil && !os.IsNotExist(err) && !isNotDir(err) {
				return "", fmt.Errorf("data: %s: %w", set, err)
			}
		}
	}
	return "", &MissingError{Set: set, File: strings.Join(names, " or "), Dir: dir}
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
