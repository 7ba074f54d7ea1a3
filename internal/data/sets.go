package data

import (
	"fmt"
	"slices"
	"strings"
)

// Info describes a data set.
type Info struct {
	Name    string         `json:"name"`
	Title   string         `json:"title"`
	Home    string         `json:"home"`  // page of the publisher
	Terms   string         `json:"terms"` // of use
	Shape   Shape          `json:"shape"`
	Classes []string       `json:"classes"`
	Train   int            `json:"train"` // samples
	Test    int            `json:"test"`
	Norm    *Normalization `json:"normalization"`     // nil: values are used as they are
	Files   []File         `json:"files"`             // empty: built in
	Archive *File          `json:"archive,omitempty"` // what the publisher packs Files into
}

// A File is one file of a set.
type File struct {
	URLs  []string  `json:"urls,omitempty"` // publisher and mirrors, in the order to try
	Known []Content `json:"known"`          // accepted forms; the first is the publisher's
}

// Name returns the publisher's name of the file.
func (f File) Name() string { return f.Known[0].Name }

// Content is one form of a file.
type Content struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"` // hex
	Note   string `json:"note,omitempty"`
}

// Lookup returns the set of that name; "libsvm" is none of them.
func Lookup(name string) (Info, error) {
	sets := Sets()
	for _, s := range sets {
		if s.Name == name {
			return s, nil
		}
	}
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.Name
	}
	return Info{}, fmt.Errorf("data: set %q: want one of %s", name, strings.Join(names, ", "))
}

// Sets returns all sets known by name. Sums and sizes are those that publishers
// and data loaders in wide use give; means and deviations are over the train split.
func Sets() []Info {
	return []Info{glyphsInfo(), mnistInfo(), fashionInfo(), cifarInfo(), a9aInfo(), optdigitsInfo()}
}

func greyImages(mean, std float64) *Normalization {
	return &Normalization{Scale: 255, Mean: []float64{mean}, Std: []float64{std}}
}

func digits() []string { return strings.Split("0123456789", "") }

func glyphsInfo() Info {
	return Info{
		Name: "glyphs", Title: "digits drawn from the Go fonts", Home: "built in",
		Terms: "drawn from fonts by Bigelow & Holmes, under the licence of Go (BSD 3-clause)",
		Shape: Shape{28, 28, 1}, Classes: digits(), Train: 12_000, Test: 2_000,
		Norm: greyImages(0.1289, 0.2229),
	}
}

func mnistInfo() Info {
	i := Info{
		Name: "mnist", Title: "MNIST handwritten digits", Home: "http://yann.lecun.com/exdb/mnist/",
		Terms: "CC BY-SA 3.0, Y. LeCun and C. Cortes",
		Shape: Shape{28, 28, 1}, Classes: digits(), Train: 60_000, Test: 10_000,
		Norm: greyImages(0.1307, 0.3081),
		Files: []File{
			file("train-images-idx3-ubyte.gz", 9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
			file("train-labels-idx1-ubyte.gz", 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
			file("t10k-images-idx3-ubyte.gz", 1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
			file("t10k-labels-idx1-ubyte.gz", 4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
		},
	}
	return i.from("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
}

func fashionInfo() Info {
	i := Info{
		Name: "fashion-mnist", Title: "Fashion-MNIST articles of clothing",
		Home:  "https://github.com/zalandoresearch/fashion-mnist",
		Terms: "MIT, Zalando SE",
		Shape: Shape{28, 28, 1}, Train: 60_000, Test: 10_000,
		Classes: []string{"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
			"ankle boot"},
		Norm: greyImages(0.2860, 0.3530),
		Files: []File{
			file("train-images-idx3-ubyte.gz", 26_421_880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
			file("train-labels-idx1-ubyte.gz", 29_515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
			file("t10k-images-idx3-ubyte.gz", 4_422_102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
			file("t10k-labels-idx1-ubyte.gz", 5_148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
		},
	}
	return i.from("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
		"https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/")
}

func a9aInfo() Info {
	i := Info{
		Name: "a9a", Title: "UCI Adult, binarised",
		Home:  "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html",
		Terms: "CC BY 4.0 (Adult: B. Becker and R. Kohavi, UCI Machine Learning Repository)",
		Shape: Shape{1, 1, 123}, Classes: []string{"-1", "+1"}, Train: 32_561, Test: 16_281,
		Files: []File{
			file("a9a", 2_329_875, "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906"),
			file("a9a.t", 1_164_628, "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9"),
		},
	}
	return i.from("https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/")
}

func optdigitsInfo() Info {
	i := Info{
		Name: "optdigits", Title: "optical recognition of handwritten digits, 8×8", Home: "https://doi.org/10.24432/C50P49",
		Terms: "CC BY 4.0 (E. Alpaydin and C. Kaynak, UCI Machine Learning Repository)",
		Shape: Shape{8, 8, 1}, Classes: digits(), Train: 3_823, Test: 1_797,
		Norm: &Normalization{Scale: optdigitsInk, Mean: []float64{0}, Std: []float64{1}},
		Files: []File{
			file("optdigits.tra", 563_639, "e1b683cc211604fe8fd8c4417e6a69f31380e0c61d4af22e93cc21e9257ffedd"),
			file("optdigits.tes", 264_712, "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"),
		},
	}
	return i.from("https://archive.ics.uci.edu/ml/machine-learning-databases/optdigits/")
}

// cifarInfo lists three forms of every batch: the publisher's, and a rebuilt copy
// in which 98 records are decoded from JPEG, compressed and plain.
func cifarInfo() Info {
	archive := file("cifar-10-binary.tar.gz", 170_052_171,
		"c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd")
	archive.URLs = []string{"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"}
	batch := func(name, published string, zstSize int64, zst, plain string) File {
		const size = cifarRecords * (1 + 3*cifarPlane)
		return File{Known: []Content{
			{Name: name, Size: size, SHA256: published},
			{Name: name + ".zst", Size: zstSize, SHA256: zst, Note: "rebuilt copy, 98 records of the set from JPEG"},
			{Name: name, Size: size, SHA256: plain, Note: "rebuilt copy, 98 records of the set from JPEG"},
		}}
	}
	return Info{
		Name: "cifar-10", Title: "CIFAR-10 tiny colour images", Home: "https://www.cs.toronto.edu/~kriz/cifar.html",
		Terms: "no licence stated; the publisher asks to cite A. Krizhevsky (2009)",
		Shape: Shape{32, 32, 3}, Train: 5 * cifarRecords, Test: cifarRecords,
		Classes: []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
		Norm:    &Normalization{Scale: 255, Mean: []float64{0.4914, 0.4822, 0.4465}, Std: []float64{0.2470, 0.2435, 0.2616}},
		Archive: &archive,
		Files: []File{
			batch("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
				26_366_072, "4263db89d4a2b4a71bd557bf6aa93c7ba305706612ef4c2431b2748157ce7c51",
				"0def081c410489f98b3935c2d405fc7436d23377894a5d6a710ce1fad8082588"),
			batch("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
				26_419_123, "72534c209f55d339d23224c5596e69597ee708c86da4976d7cdd8d332473b536",
				"69cda47c0145e3c217e9d41887b354db05bc67d8e824a0007c909625de6c9935"),
			batch("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
				26_418_620, "14891a8418582961df3e2349b456361fef95328ce3ad2464cf8fd1e35fa4fe8a",
				"1a4d0920ea06101641902b09fdac800cad7b5105963deee31ddff8e83fbabe6c"),
			batch("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
				26_407_079, "e3824aab3b50034032e251f307ac9cadc06604a9f0b8b01f797fc150cd6a36f3",
				"7f8e9534c4aa91fa34cb7cb4561b126eac16e9a5aff31f1fdb6b38d83f3b92d6"),
			batch("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
				26_373_769, "a538867638f11bac72d1ceb0e76c7c2dcd3ffc12cdbbf279c9abe41d5d8e2bfd",
				"ace578a129b1d9695ee4254afb079a7573b408a36f818d5d96062484607c1619"),
			batch("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
				26_394_694, "a6bc7bd3e76fa51ae5e0b824d0dd7fd9340d4f3405ffa6959296d0e0f8b9fd58",
				"b7a8afae140bbcc0153185efcbd5d6b73bc11a49943288e23ba94c44c391c169"),
		},
	}
}

func file(name string, size int64, sha256 string) File {
	return File{Known: []Content{{Name: name, Size: size, SHA256: sha256}}}
}

// from sets the URLs of all files to their names below the given ones.
func (i Info) from(bases ...string) Info {
	i.Files = slices.Clone(i.Files)
	for k := range i.Files {
		for _, base := range bases {
			i.Files[k].URLs = append(i.Files[k].URLs, base+i.Files[k].Name())
		}
	}
	return i
}
