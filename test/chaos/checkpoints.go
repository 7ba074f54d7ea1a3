//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// damaged lists the faults of the checkpoints below a folder. It relies only on the manifest, which holds the length
// and the SHA-256 of the state beside it, so that the program under test does not judge itself.
func damaged(dir string) []string {
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() != "manifest.json" {
			return nil
		}
		if err := verify(path); err != nil {
			found = append(found, fmt.Sprintf("checkpoint %s: %v", filepath.Dir(path), err))
		}
		return nil
	})
	if err != nil {
		found = append(found, err.Error())
	}
	return found
}

// verify compares a state with its manifest.
func verify(manifest string) error {
	text, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	var m struct {
		Checkpoint struct {
			State struct {
				Bytes  int    `json:"bytes"`
				SHA256 string `json:"sha256"`
			} `json:"state"`
		} `json:"checkpoint"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	state, err := os.ReadFile(filepath.Join(filepath.Dir(manifest), "state.safetensors"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(state)
	if want := m.Checkpoint.State; len(state) != want.Bytes || hex.EncodeToString(sum[:]) != want.SHA256 {
		return fmt.Errorf("a state of %d bytes that is not the one of the manifest", len(state))
	}
	return nil
}
