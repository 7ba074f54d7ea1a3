package data

import (
	"fmt"
	"strings"
)

// A Note is what people should know of a file before they train on it.
type Note struct {
	File string `json:"file"`
	Text string `json:"text"`           // begins with the name of the file
	Loud bool   `json:"loud,omitempty"` // the data may not be what their user thinks
}

// Sentences returns the notes of several files as texts, loud ones apart. Files with the same note share one.
func Sentences(notes []Note) (quiet, loud []string) {
	type same struct {
		rest string
		loud bool
	}
	files := map[same][]string{}
	var order []same
	for _, n := range notes {
		key := same{strings.TrimPrefix(n.Text, n.File), n.Loud}
		if files[key] == nil {
			order = append(order, key)
		}
		files[key] = append(files[key], n.File)
	}
	for _, key := range order {
		text := files[key][0] + key.rest
		if others := len(files[key]) - 1; others > 0 {
			text = fmt.Sprintf("%s and %d more%s", files[key][0], others, key.rest)
		}
		if key.loud {
			loud = append(loud, text)
		} else {
			quiet = append(quiet, text)
		}
	}
	return quiet, loud
}

// notesOf returns the quiet notes of a file.
func notesOf(f rows) []Note {
	var notes []Note
	for _, text := range f.form().notes {
		notes = append(notes, Note{File: f.file(), Text: f.file() + ": " + text})
	}
	return notes
}
