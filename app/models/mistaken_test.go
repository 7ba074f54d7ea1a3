package models

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
)

// Files of another kind, under the name of a model or of samples, are named for what they are.
func TestMistakenFilesAreNamed(t *testing.T) {
	path, _ := saved(t, asIs, "model={name: mlp, hidden: [3]}")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torch := "PK\x03\x04" + strings.Repeat("\x00", 26) + "archive/data.pkl"
	for _, test := range []struct{ text, model, samples string }{
		{"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
			"a Git LFS pointer, not the file itself: fetch it with git lfs pull (12345 bytes)", "a Git LFS pointer"},
		{"\n<!DOCTYPE html>\n<html><body>Sign in</body></html>", "an HTML page", "an HTML page"},
		{"<?xml version=\"1.0\"?><Error/>", "XML, which may be the error message", "XML"},
		{`{"metadata": {"total_size": 1}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}`,
			"the index of a model in several files", "the index of a model in several files"},
		{`{"hidden": 3}`, "JSON: name the .safetensors file", "JSON: save it as CSV"},
		{torch, "a file of torch.save", "a pickle"},
		{"\x80\x02\x8a\nl\xfc\x9cF", "a file of torch.save", "a pickle"},
		{"%PDF-1.7\n1 0 obj", "a PDF document", "a PDF document"},
		{"\x89HDF\r\n\x1a\n0000", "an HDF5 file", "an HDF5 file"},
		{"GGUF\x03\x00\x00\x00\x00\x00\x00\x00", "a GGUF file", "a byte 0x03: this is no text"},
		{string(text), "", "a model file (safetensors): want samples"},
	} {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, evaluation := Evaluate(Request{Model: file, Data: "glyphs"}, unseen)
		_, mean := AverageFiles([]string{file}, filepath.Join(t.TempDir(), "mean"), nil)
		loaded, err := configs.Load(configs.Source{Set: []string{"train.from=" + file}})
		if err != nil {
			t.Fatal(err)
		}
		_, start := experiment.New(loaded.Config)
		_, prediction := Predict(PredictRequest{Model: file, File: path})
		for command, err := range map[string]error{
			"evaluate": evaluation, "average": mean, "train.from": start, "predict": prediction,
		} {
			if test.model != "" && (err == nil || !strings.Contains(err.Error(), test.model)) {
				t.Errorf("%s %.20q: error %v, want %q", command, test.text, err, test.model)
			}
		}
		if _, err := Predict(PredictRequest{Model: path, File: file}); err == nil ||
			!strings.Contains(err.Error(), test.samples) {
			t.Errorf("samples of %.20q: error %v, want %q", test.text, err, test.samples)
		}
	}
}

// Other programs sort the tensors by name, in any way.
func TestModelsAreRecognisedInAnyOrderOfTensors(t *testing.T) {
	widths := []int{5, 4, 5, 6, 5, 4, 5, 6, 7, 8, 9}
	hidden := strings.ReplaceAll(fmt.Sprint(widths), " ", ", ")
	shuffled, _ := saved(t, func(s *train.Saved) {
		bare(s)
		last := len(s.Layout) - 1
		var turned []model.Param
		size := 0
		for k := range s.Layout {
			p := s.Layout[(k*5+3)%(last+1)]
			turned = append(turned, model.Param{Name: p.Name, Shape: p.Shape, Off: size})
			size += p.Len()
		}
		s.Layout, s.X, s.Parts = turned, make([]float32, size), nil
	}, "model={name: mlp, hidden: "+hidden+"}")
	head, err := train.ReadLayout(shuffled)
	if err != nil {
		t.Fatal(err)
	}
	run, err := Request{Model: shuffled, Data: "glyphs"}.run(head)
	if err != nil {
		t.Fatal(err)
	}
	if m := run.Config().Model; m.Name != "mlp" || fmt.Sprint(m.Hidden) != fmt.Sprint(widths) {
		t.Errorf("the model is %+v", m)
	}
}
