package safefile

import "os"

// mostFilled bounds the zeros that Fill writes: more would take too long.
const mostFilled = 256 << 20

// Fill is Allocate for a file whose content does not matter. Where the system does not offer it, the file gets zeros,
// at most 256 MiB of them.
func Fill(file *os.File, bytes int64) error {
	err := Allocate(file, bytes)
	if !unsupported(err) {
		return err
	}
	bytes = min(bytes, mostFilled)
	zeros := make([]byte, min(bytes, 1<<20))
	for at := int64(0); at < bytes; at += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros[:min(bytes-at, int64(len(zeros)))], at); err != nil {
			return err
		}
	}
	return nil
}
