package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-retryablehttp"
)

// Progress is the state of a download.
type Progress struct {
	Set, File   string
	Done, Total int64 // bytes
}

// Fetch downloads the missing or wrong files of a set from the publisher or a mirror into dir/name. It reports to
// progress, which may be nil. It continues an interrupted download. A file appears under its name only when it is
// complete and has the known checksum; *ChecksumError says that no source had it.
func Fetch(ctx context.Context, name, dir string, progress func(Progress)) error {
	info, err := Lookup(name)
	if err != nil {
		return err
	}
	client := retryablehttp.NewClient()
	client.Logger = nil
	return fetcher{client, progress}.set(ctx, info, filepath.Join(dir, name))
}

// A fetcher downloads files.
type fetcher struct {
	client   *retryablehttp.Client
	progress func(Progress)
}

// set fetches the missing files of a set into folder.
func (f fetcher) set(ctx context.Context, info Info, folder string) error {
	var lacking []File
	for _, file := range info.Files {
		if !present(folder, file) {
			lacking = append(lacking, file)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("data: %s: %w", info.Name, err)
	}
	if info.Archive != nil {
		return f.archive(ctx, info, folder)
	}
	for _, file := range lacking {
		part, err := f.file(ctx, info.Name, file, folder)
		if err != nil {
			return err
		}
		if err := os.Rename(part, strings.TrimSuffix(part, partSuffix)); err != nil {
			return fmt.Errorf("data: %s: %w", info.Name, err)
		}
	}
	return nil
}

// present reports whether folder has the file in one of its known forms.
func present(folder string, file File) bool {
	for _, known := range file.Known {
		_, sum, err := fileSum(filepath.Join(folder, known.Name))
		if err == nil && sum == known.SHA256 {
			return true
		}
	}
	return false
}

// archive fetches the publisher's archive, takes the files out of it and drops it.
func (f fetcher) archive(ctx context.Context, info Info, folder string) error {
	part, err := f.file(ctx, info.Name, *info.Archive, folder)
	if err != nil {
		return err
	}
	if err := unpack(part, info, folder); err != nil {
		return err
	}
	return os.Remove(part)
}

// partSuffix marks an incomplete file.
const partSuffix = ".part"

// file downloads a file under its name with partSuffix, checks its checksum, flushes it to
// disk and returns that path.
func (f fetcher) file(ctx context.Context, set string, file File, folder string) (string, error) {
	want := file.Known[0]
	part := filepath.Join(folder, want.Name+partSuffix)
	var errs []error
	for _, url := range file.URLs {
		err := f.checked(ctx, part, Progress{Set: set, File: want.Name, Total: want.Size}, url, want.SHA256)
		if err == nil {
			return part, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return "", errors.Join(errs...)
}

// checked downloads url to path and compares checksums. It removes a file with a wrong one.
func (f fetcher) checked(ctx context.Context, path string, p Progress, url, want string) error {
	if err := f.download(ctx, path, p, url); err != nil {
		return fmt.Errorf("data: %s: fetch %s: %w", p.Set, url, err)
	}
	_, got, err := fileSum(path)
	if err != nil {
		return fmt.Errorf("data: %s: %w", p.Set, err)
	}
	if got != want {
		return errors.Join(&ChecksumError{Set: p.Set, File: url, Got: got, Want: want}, os.Remove(path))
	}
	return nil
}

// stalls is the number of requests in a row without a byte after which a URL is given up.
const stalls = 3

// download extends path to p.Total bytes from url.
func (f fetcher) download(ctx context.Context, path string, p Progress, url string) error {
	out, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	for idle := 0; ; {
		if p.Done, err = out.Seek(0, io.SeekEnd); err != nil {
			return err
		}
		if p.Done == p.Total {
			return errors.Join(out.Sync(), out.Close())
		}
		before := p.Done
		again, err := f.more(ctx, out, p, url)
		if err != nil && !again {
			return err
		}
		after, seekErr := out.Seek(0, io.SeekEnd)
		if seekErr != nil {
			return seekErr
		}
		if idle++; after > before {
			idle = 0
		}
		if idle == stalls {
			return err
		}
	}
}

// more requests the rest of the file from byte p.Done on and appends the answer to out. The result again says whether a
// further request may bring more.
func (f fetcher) more(ctx context.Context, out *os.File, p Progress, url string) (again bool, err error) {
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err
	}
	if p.Done > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.Done))
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusPartialContent &&
		strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", p.Done)):
	case resp.StatusCode == http.StatusOK:
		if p.Done, err = restart(out); err != nil {
			return false, err
		}
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable || resp.StatusCode == http.StatusPartialContent:
		_, err = restart(out)
		return err == nil, errors.Join(err, fmt.Errorf("the server sends another range: %s", resp.Status))
	default:
		return false, fmt.Errorf("the server replies %s", resp.Status)
	}
	return f.copy(ctx, out, p, resp.Body)
}

// restart empties out.
func restart(out *os.File) (int64, error) {
	if err := out.Truncate(0); err != nil {
		return 0, err
	}
	return out.Seek(0, io.SeekStart)
}

// copy appends body to out.
func (f fetcher) copy(ctx context.Context, out *os.File, p Progress, body io.Reader) (again bool, err error) {
	buf := make([]byte, 128<<10)
	for {
		n, err := body.Read(buf)
		if p.Done+int64(n) > p.Total {
			_, restartErr := restart(out)
			return false, errors.Join(fmt.Errorf("the file is longer than the published %d bytes", p.Total), restartErr)
		}
		if _, writeErr := out.Write(buf[:n]); writeErr != nil {
			return false, writeErr
		}
		p.Done += int64(n)
		if f.progress != nil && n > 0 {
			f.progress(p)
		}
		switch {
		case err == io.EOF && p.Done == p.Total:
			return true, nil
		case err == io.EOF:
			return true, fmt.Errorf("the file ends after %d of %d bytes", p.Done, p.Total)
		case err != nil:
			return ctx.Err() == nil, err
		}
	}
}
