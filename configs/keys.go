package configs

import (
	"slices"
	"strings"
)

// Keys are dotted: algorithm.theta.rule. An entry of a list has its number as a name: peers.0.id.

// join returns the key of an entry of a section; the section "" is the whole run file.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// within reports whether key is section itself or lies in it.
func within(key, section string) bool {
	return key == section || strings.HasPrefix(key, section+".")
}

// touched reports whether a key is wrong, holds a wrong key or lies in a wrong section.
func touched(bad []string, key string) bool {
	return slices.ContainsFunc(bad, func(b string) bool { return within(b, key) || within(key, b) })
}

// anyTouched reports whether one of the keys is touched.
func anyTouched(bad, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return touched(bad, key) })
}

// sectionOf returns the section in which a key lies, "" for a key outside all sections.
func sectionOf(key string) string { return key[:max(0, strings.LastIndexByte(key, '.'))] }
