package train

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gossiptrainer/internal/record"
	"gossiptrainer/model"
)

func TestSavedModelReturns(t *testing.T) {
	m, _ := mlp(t)
	x := make([]float32, m.Dim())
	m.Init(x, 1)
	whole := []model.Param{{Name: "parameters", Shape: []int{len(x)}}}
	tests := map[string]struct{ saved, want Saved }{
		"with a layout": {
			Saved{X: x, Layout: m.Layout(), Metadata: map[string]string{"round": "12", "run": "ring8 \"x\""}},
			Saved{X: x, Layout: m.Layout(), Metadata: map[string]string{"round": "12", "run": "ring8 \"x\""}},
		},
		"as one tensor": {Saved{X: x}, Saved{X: x, Layout: whole}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model.safetensors")
			for range 2 { // the second time over an existing file
				if err := Write(path, tt.saved); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
				t.Errorf("%d files are left, want 1", len(files))
			}
		})
	}
}

func TestFailedWriteKeepsTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := Write(path, Saved{X: []float32{1, 2}}); err != nil {
		t.Fatal(err)
	}
	bad := Saved{X: []float32{1}, Layout: []model.Param{{Name: "a", Shape: []int{2}}}}
	if err := Write(path, bad); err == nil {
		t.Fatal("a layout that does not fit was accepted")
	}
	got, err := Read(path)
	if err != nil || len(got.X) != 2 {
		t.Errorf("read %v, %v; want the first file's two parameters", got.X, err)
	}
}

func TestReadNamesTheMissingFile(t *testing.T) {
	_, err := Read(filepath.Join(t.TempDir(), "none.safetensors"))
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none.safetensors") {
		t.Errorf("error %v", err)
	}
}

// file puts a header before n data bytes.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

func TestDecodeRefuses(t *testing.T) {
	tensor := func(shape string, begin, end int) string {
		return fmt.Sprintf(`{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, shape, begin, end)
	}
	tests := map[string]struct {
		file []byte
		want string // in the error
	}{
		"an empty file":               {nil, "header length"},
		"a header past the end":       {file("{}", 0)[:9], "want at most"},
		"a huge header":               {binary.LittleEndian.AppendUint64(nil, 1<<63), "want at most"},
		"no object":                   {file(`[]`, 0), "'{'"},
		"a broken object":             {file(`{"a"`, 0), "EOF"},
		"a second object":             {file(`{} {}`, 0), "follows"},
		"another dtype":               {file(`{"a":{"dtype":"F33","shape":[2],"data_offsets":[0,4]}}`, 4), "not supported"},
		"whole numbers":               {file(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 4), "only F32, F16"},
		"an unknown field":            {file(`{"a":{"dtype":"F32","strides":[2]}}`, 4), "strides"},
		"a negative size":             {file(`{"a":`+tensor("[-1]", 0, 4)+`}`, 4), "-1"},
		"a tensor past the end":       {file(`{"a":`+tensor("[2]", 0, 8)+`}`, 4), "data offsets"},
		"offsets backwards":           {file(`{"a":`+tensor("[1]", 4, 0)+`}`, 4), "data offsets"},
		"offsets between floats":      {file(`{"a":`+tensor("[1]", 2, 6)+`}`, 8), "data offsets"},
		"three offsets":               {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}}`, 4), "data offsets"},
		"a shape that overflows":      {file(`{"a":`+tensor("[4294967296,4294967296]", 0, 4)+`}`, 4), "larger"},
		"a shape of another length":   {file(`{"a":`+tensor("[2]", 0, 4)+`}`, 8), "takes 8"},
		"a name used twice":           {file(`{"a":`+tensor("[1]", 0, 4)+`,"a":`+tensor("[1]", 4, 8)+`}`, 8), "twice"},
		"an overlap":                  {file(`{"a":`+tensor("[2]", 0, 8)+`,"b":`+tensor("[1]", 4, 8)+`}`, 8), "overlap"},
		"a gap":                       {file(`{"a":`+tensor("[1]", 0, 4)+`,"b":`+tensor("[1]", 8, 12)+`}`, 12), "gap"},
		"data that nobody names":      {file(`{"a":`+tensor("[1]", 0, 4)+`}`, 8), "file has 8"},
		"metadata that is no strings": {file(`{"__metadata__":{"a":1}}`, 0), "metadata"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := decode(bytes.NewReader(tt.file), int64(len(tt.file)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestDecodeAcceptsWhatOthersWrite(t *testing.T) {
	f := file(`{"b":{"shape":[1,2],"dtype":"F32","data_offsets":[4,12]},"none":{"dtype":"F32","shape":[0],"data_offsets":[4,4]},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   `, 12)
	got, err := decode(bytes.NewReader(f), int64(len(f)))
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Param{
		{Name: "a", Shape: []int{}}, {Name: "none", Off: 1, Shape: []int{0}}, {Name: "b", Off: 1, Shape: []int{1, 2}},
	}
	if diff := cmp.Diff(want, got.Layout); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecode(f *testing.F) {
	var good bytes.Buffer
	layout := []model.Param{{Name: "a", Shape: []int{2, 1}}, {Name: "b", Off: 2, Shape: []int{3}}}
	saved := Saved{X: []float32{1, 2, 3, 4, 5}, Layout: layout, Metadata: map[string]string{"k": "v"}}
	if err := encode(&good, saved); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add(file(`{}`, 0))
	f.Add(file(`{"a":{"dtype":"F32","shape":[0,18446744073709551615],"data_offsets":[0,0]}}`, 0))
	f.Fuzz(func(t *testing.T, content []byte) {
		got, err := decode(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return
		}
		if got.Layout == nil { // a file of metadata alone
			return
		}
		var again bytes.Buffer
		if err := encode(&again, got); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		back, err := decode(&again, int64(again.Len()))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if record.Digest(back.X) != record.Digest(got.X) || !cmp.Equal(back.Layout, got.Layout) {
			t.Errorf("%+v became %+v", got.Layout, back.Layout)
		}
	})
}
