package data

// Sums returns the files that a set below dir is read from, with their sizes and
// sums, whatever these should be. A built-in set has no files.
func Sums(name, dir string) ([]FileReport, error) {
	names := [][]string{{libsvmTrain}, {libsvmTest}}
	if name != libsvmName {
		info, err := Lookup(name)
		if err != nil {
			return nil, err
		}
		names = nil
		for _, f := range info.Files {
			names = append(names, f.names())
		}
	}
	var all []FileReport
	for _, known := range names {
		path, err := locate(name, dir, known...)
		if err != nil {
			return nil, err
		}
		size, sum, err := fileSum(path)
		if err != nil {
			return nil, err
		}
		all = append(all, FileReport{File: known[0], Path: path, Size: size, SHA256: sum})
	}
	return all, nil
}
