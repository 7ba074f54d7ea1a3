package data

// A Source is an opened data set that need not be in memory. A worker reads the labels, cuts
// them into shards, and then reads the rows of its own shard only.
type Source struct {
	Info   Info
	Notes  []Note // of the user's own files
	dir    string
	reader reader
}

// TrainLabels returns the labels of the train split.
func (s *Source) TrainLabels() (Labels, error) {
	y, err := s.reader.labels(trainPart)
	return Labels{Of: y, Classes: s.Info.Classes}, err
}

// Counts returns the rows of each class in the train and the test split of the user's own files. It returns nil for
// other sets, whose splits have all classes.
func (s *Source) Counts() (train, test []int) {
	r, own := s.reader.(*fileReader)
	if !own {
		return nil, nil
	}
	var counts [2][]int
	for p, y := range r.y {
		counts[p] = make([]int, len(s.Info.Classes))
		for _, label := range y {
			counts[p][label]++
		}
	}
	return counts[trainPart], counts[testPart]
}

// Train reads the given rows of the train split, in that order; nil means all.
// A row may occur once.
func (s *Source) Train(rows []int) (Set, error) { return s.read(trainPart, s.Info.Train, rows) }

// Test reads the test split.
func (s *Source) Test() (Set, error) { return s.read(testPart, s.Info.Test, nil) }

func (s *Source) read(p part, n int, rows []int) (Set, error) {
	b, err := newBuilder(s.Info, n, rows)
	if err != nil {
		return Set{}, err
	}
	if err := s.reader.fill(p, b); err != nil {
		return Set{}, err
	}
	return b.set, nil
}

// Find returns *MissingError if a file of the set does not exist. It reads no file.
func (s *Source) Find() error {
	for _, f := range s.Info.Files {
		if _, err := locate(s.Info.Name, s.dir, f.names()...); err != nil {
			return err
		}
	}
	return nil
}
