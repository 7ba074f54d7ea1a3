package data

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// A publisher serves one file. misbehave[i] handles request i; later requests are served properly.
type publisher struct {
	content   []byte
	misbehave []http.HandlerFunc

	mu     sync.Mutex
	ranges []string // Range headers of the requests
}

func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	i := len(p.ranges)
	p.ranges = append(p.ranges, r.Header.Get("Range"))
	p.mu.Unlock()
	if i < len(p.misbehave) {
		p.misbehave[i](w, r)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.content))
}

// asked returns the Range headers so far. A handler may still run when its client has
// given up.
func (p *publisher) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ranges)
}

// cut announces the whole content, sends n bytes of it and drops the connection.
func (p *publisher) cut(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(p.content)))
		w.Write(p.content[:n])
		panic(http.ErrAbortHandler)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func testFetcher() fetcher {
	client := retryablehttp.NewClient()
	client.Logger = nil
	client.RetryWaitMin, client.RetryWaitMax, client.RetryMax = time.Millisecond, time.Millisecond, 2
	return fetcher{client: client}
}

// served starts a server and describes a set of one file on it.
func served(t *testing.T, p *publisher) Info {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	f := file("numbers", int64(len(p.content)), sum(p.content))
	f.URLs = []string{server.URL}
	return Info{Name: "tiny", Files: []File{f}}
}

func someBytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 3)
	}
	return b
}

func TestFetch(t *testing.T) {
	content := someBytes(1 << 20)
	tests := []struct {
		name   string
		part   []byte // content of an earlier try
		server func(p *publisher) []http.HandlerFunc
		ranges []string
		want   []string // parts of the error
	}{
		{name: "at once", ranges: []string{""}},
		{name: "continues an earlier try", part: content[:1000], ranges: []string{"bytes=1000-"}},
		{name: "an earlier try was complete", part: content, ranges: nil},
		{name: "an earlier try was too long", part: append(bytes.Clone(content), 1),
			ranges: []string{"bytes=1048577-", ""}},
		{
			name:   "continues after two cuts",
			server: func(p *publisher) []http.HandlerFunc { return []http.HandlerFunc{p.cut(300_000), p.cut(0)} },
			ranges: []string{"", "bytes=300000-", "bytes=300000-"},
		},
		{
			name:   "server overloaded at first",
			server: func(*publisher) []http.HandlerFunc { return []http.HandlerFunc{status(503)} },
			ranges: []string{"", ""},
		},
		{
			name: "server knows no ranges", part: content[:1000],
			server: func(p *publisher) []http.HandlerFunc {
				return []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) { w.Write(p.content) }}
			},
			ranges: []string{"bytes=1000-"},
		},
		{
			name: "server sends another range", part: content[:1000],
			server: func(p *publisher) []http.HandlerFunc {
				return []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Range", "bytes 0-99/1048576")
					w.WriteHeader(http.StatusPartialContent)
					w.Write(p.content[:100])
				}}
			},
			ranges: []string{"bytes=1000-", ""},
		},
		{
			name:   "not found",
			server: func(*publisher) []http.HandlerFunc { return []http.HandlerFunc{status(404)} },
			ranges: []string{""}, want: []string{"tiny", "http://127.0.0.1", "404 Not Found"},
		},
		{
			name: "nothing ever comes",
			server: func(p *publisher) []http.HandlerFunc {
				return []http.HandlerFunc{p.cut(0), p.cut(0), p.cut(0), p.cut(0)}
			},
			ranges: []string{"", "", ""}, want: []string{"tiny", "EOF"},
		},
		{
			name: "too long",
			server: func(p *publisher) []http.HandlerFunc {
				return []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) { w.Write(append(p.content, 0)) }}
			},
			ranges: []string{""}, want: []string{"longer than the published 1048576 bytes"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &publisher{content: content}
			if tt.server != nil {
				p.misbehave = tt.server(p)
			}
			info, dir := served(t, p), t.TempDir()
			if tt.part != nil {
				os.WriteFile(filepath.Join(dir, "numbers.part"), tt.part, 0o644)
			}
			err := testFetcher().set(context.Background(), info, dir)
			wantError(t, err, tt.want...)
			if got := p.asked(); !slices.Equal(got, tt.ranges) {
				t.Errorf("ranges asked for %q, want %q", got, tt.ranges)
			}
			got, readErr := os.ReadFile(filepath.Join(dir, "numbers"))
			if tt.want == nil && !bytes.Equal(got, content) {
				t.Error("the file is not what was published")
			}
			if tt.want != nil && !os.IsNotExist(readErr) {
				t.Error("a file appeared under its name")
			}
		})
	}
}

func TestFetchRefusesAWrongChecksum(t *testing.T) {
	p := &publisher{content: someBytes(5000)}
	info, dir := served(t, p), t.TempDir()
	os.WriteFile(filepath.Join(dir, "numbers"), []byte("what was there"), 0o644)
	info.Files[0].Known[0].SHA256 = sum([]byte("other"))
	err := testFetcher().set(context.Background(), info, dir)
	var wrong *ChecksumError
	if !errors.As(err, &wrong) || wrong.Got != sum(p.content) {
		t.Errorf("error %v, want a *ChecksumError with the sum of what came", err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "numbers")); string(got) != "what was there" {
		t.Error("the file that was there is gone")
	}
	if _, err := os.Stat(filepath.Join(dir, "numbers.part")); !os.IsNotExist(err) {
		t.Error("the wrong download was kept")
	}
}

func TestFetchGoesOnToTheMirror(t *testing.T) {
	bad := &publisher{content: someBytes(5000), misbehave: []http.HandlerFunc{status(404)}}
	good := &publisher{content: bad.content}
	info, mirror := served(t, bad), served(t, good)
	info.Files[0].URLs = append(info.Files[0].URLs, mirror.Files[0].URLs...)
	dir := t.TempDir()
	var last Progress
	f := testFetcher()
	f.progress = func(p Progress) { last = p }
	if err := f.set(context.Background(), info, dir); err != nil {
		t.Fatal(err)
	}
	if want := (Progress{"tiny", "numbers", 5000, 5000}); last != want {
		t.Errorf("last progress %+v, want %+v", last, want)
	}
	if err := f.set(context.Background(), info, dir); err != nil || len(good.asked()) != 1 {
		t.Errorf("a second fetch: error %v, %d requests, want none further", err, len(good.asked()))
	}
}

func TestFetchStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &publisher{content: someBytes(5000)}
	p.misbehave = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5000")
		w.Write(p.content[:100])
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	}}
	info := served(t, p)
	info.Files[0].URLs = append(info.Files[0].URLs, info.Files[0].URLs[0])
	if err := testFetcher().set(ctx, info, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if len(p.asked()) != 1 {
		t.Errorf("%d requests, want 1", len(p.asked()))
	}
}

// pack makes a .tar.gz.
func pack(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o600,
			Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		w.Write(content)
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestFetchUnpacksAnArchive(t *testing.T) {
	one, two := someBytes(70_000), someBytes(100)
	files := []File{file("one.bin", 70_000, sum(one)), file("two.bin", 100, sum(two))}
	tests := []struct {
		name   string
		packed map[string][]byte
		want   []string
		left   string // files in the folder afterwards
	}{
		{"right", map[string][]byte{"batches/one.bin": one, "batches/two.bin": two, "../../evil": two}, nil,
			"one.bin two.bin"},
		{"a file is wrong", map[string][]byte{"one.bin": two, "two.bin": two}, []string{"one.bin", "sha256"},
			"pack.tar.gz.part"},
		{"a file is missing", map[string][]byte{"one.bin": one}, []string{"EOF"}, "one.bin pack.tar.gz.part"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &publisher{content: pack(t, tt.packed)}
			info, dir := served(t, p), filepath.Join(t.TempDir(), "tiny")
			archive := info.Files[0]
			archive.Known[0].Name = "pack.tar.gz"
			info.Archive, info.Files = &archive, files
			wantError(t, testFetcher().set(context.Background(), info, dir), tt.want...)
			var left []string
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				if tt.name != "a file is wrong" || e.Name() != "two.bin" { // may come first
					left = append(left, e.Name())
				}
			}
			if got := strings.Join(left, " "); got != tt.left {
				t.Errorf("files left: %s, want %s", got, tt.left)
			}
		})
	}
}

func TestFetchUnknownSet(t *testing.T) {
	wantError(t, Fetch(context.Background(), "mnits", t.TempDir(), nil), `"mnits"`, "fashion-mnist")
}

func TestVerifyTellsMissingFromWrong(t *testing.T) {
	dir := write(t, map[string]string{"optdigits/optdigits.tra": "0,1\n"})
	report, err := Verify("optdigits", dir)
	var wrong *ChecksumError
	var missing *MissingError
	if !errors.As(err, &wrong) || !errors.As(err, &missing) {
		t.Errorf("error %v, want a *ChecksumError and a *MissingError", err)
	}
	if len(report) != 2 || report[0].Size != 4 || !errors.As(report[0].Err, &wrong) ||
		!errors.As(report[1].Err, &missing) {
		t.Errorf("report %+v", report)
	}
}
