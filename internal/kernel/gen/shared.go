package main

// Go and assembly share numbers, and structs that Go fills.

// Steps of the functions, in coordinates.
const (
	step  = 128 // of a quantizer
	batch = 64  // of rounding to parts or levels
	lanes = 16  // columns in a panel
)

// Numbers of single topics.
const (
	roundFraction = 22  // fractional bits of coordinates that are rounded to parts
	maxCells      = 256 // length of the tables of cells
	findAlone     = 6   // number of halvings from which a function of its own finds the cells

	// Quads of a tile: 12 rows of 32 columns, or 24 of 16, with AVX-512. With AVX2, and for the rest,
	// a tile is one quad of 16 columns.
	convolveTile2, convolveTile1 = 3, 6
	outerTile2, outerTile1       = 3, 6

	// The primes of XXH64 that its stripes use.
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
)

// constants returns the constants of package asm.
func constants() []constant {
	return []constant{
		{"Step", step, "is the number of coordinates that a quantizer does at a time."},
		{"Batch", batch, "is the number of coordinates that rounding to parts or levels does at a time."},
		{"RoundFraction", roundFraction, "is the number of fractional bits of coordinates that are rounded to parts."},
		{"MaxCells", maxCells, "is the largest number of cells between levels."},
		{"FindAlone", findAlone, "is from how many halvings on a function of its own finds the cells."},
		{"Lanes", lanes, "is the number of columns in a panel."},
		{"ConvolveTile2", convolveTile2, "is the quads of a tile of two panels."},
		{"ConvolveTile1", convolveTile1, "is the quads of a tile of one panel, with AVX-512."},
		{"OuterTile2", outerTile2, "is the quads of a tile of two panels."},
		{"OuterTile1", outerTile1, "is the quads of a tile of one panel, with AVX-512."},
		{"Prime1", prime1, "is the first prime of XXH64."},
		{"Prime2", prime2, "is the second prime of XXH64."},
	}
}

// quantizerWords holds each constant eight times, for all lanes of AVX2.
func quantizerWords() layout {
	return layout{"QuantizerWords", "holds the words of kernel.Quantizer. Its comment explains the symbols.",
		[]field{
			{"First", "[8]uint32", "the scale of w, a float"},
			{"Magic", "[8]uint32", "3 plus the shift for packing, a float"},
			{"Units", "[8]uint32", "2²²⁺ˢ, a float"},
			{"Three", "[8]uint32", "3 times that"},
			{"High", "[8]uint32", "2ˢ/B, rounded to a float"},
			{"Low", "[8]uint32", "the rest of it"},
			{"Shift", "[8]uint32", "added to T: c, and the zone of doubt"},
			{"Test", "[8]uint32", "bits that are 0 where T is doubtful"},
			{"Own", "[8]uint32", "of residues their mask, of indices their bits"},
			{"Rest", "[8]uint32", "fractional bits of T"},
			{"Noise", "[8]uint32", "bits that random numbers lose for T"},
			{"Key1", "[8]uint32", "upper half of the key"},
			{"Products", "[128]uint32", "of the 128 lower parts of indices"},
			{"Key0", "uint32", "lower half of the key, above those parts"},
		}}
}

// rounderWords holds each word eight times.
func rounderWords() layout {
	return layout{"RounderWords", "holds the words of kernel.Rounder.", []field{
		{"Mask", "[8]uint32", "of x"},
		{"Low", "[8]uint32", "the least v, a float"},
		{"Factor", "[8]uint32", "parts per unit of v, a float"},
		{"Flip", "[8]uint32", "of random numbers"},
		{"Shift", "[8]uint32", "added before cutting"},
		{"Test", "[8]uint32", "bits that are 0 where a sum is doubtful"},
		{"Sign", "[8]uint32", "of symbols, in each byte"},
	}}
}

// cellWords holds the entries of tables in reversed order of bits, and the other words eight times.
func cellWords() layout {
	return layout{"CellWords", "holds the words of kernel.Cells. Its comment explains the symbols.", []field{
		{"Starts", "[256]uint32", "of the cells, floats, for the steps of the search"},
		{"Factors", "[256]uint32", "1/width, floats"},
		{"Low", "[256]uint32", "l_j/width, floats"},
		{"Mask", "[8]uint32", "of x"},
		{"Flip", "[8]uint32", "of the symbols of negative x, in each byte"},
		{"Mirror", "[8]uint32", "all bits if u is mirrored for negative x"},
		{"Guard", "[8]uint32", "twice the distance that is doubtful, as an integer"},
		{"Lower", "[8]uint32", "twice 16 bytes: symbols by the lower four bits"},
		{"Upper", "[8]uint32", "the same by the upper four"},
	}}
}

// channelsCall holds the arguments of the passes of normalization and pooling.
func channelsCall() layout {
	return layout{"ChannelsCall",
		"holds the arguments of a pass over the pixels of some planes. Distances are of bytes.", []field{
			{"Planes", "[6]*float32", "their first pixels"},
			{"Steps", "[6]int", "from one row to the next"},
			{"Coefficients", "[3]*float32", "one of each per channel"},
			{"Rows", "int", "of each plane"},
			{"Quads", "int", "pixels of a row, by fours"},
			{"Singles", "int", "and the rest"},
			{"Pixel", "int", "from one pixel to the next"},
			{"Groups", "int", "of channels that fill a vector; the assembly counts it down"},
			{"Floor", "float32", "of the results"},
			{"Done", "int", "bytes of the channels dealt with, which the assembly counts"},
			{"Mask", "[16]int32", "all bits of the lanes that have a channel, for functions of a part"},
		}}
}

// convolveCall holds the arguments of the tiles of a convolution.
func convolveCall() layout {
	return layout{"ConvolveCall", "holds the arguments of the tiles of a convolution. Distances are of bytes.",
		[]field{
			{"In", "*float32", "inputs"},
			{"Out", "*float32", "sums, from the panel's first column on"},
			{"W", "*float32", "weights of the panel"},
			{"Start", "*float32", "start values of the sums"},
			{"Done", "int", "bytes of the quads dealt with, which the assembly counts"},
			{"Tiles", "int", "1 or more; the assembly counts it down"},
			{"Rows", "int", "runs of inputs in a window"},
			{"Len", "int", "inputs in a run"},
			{"Step", "int", "from the end of a run to the next"},
			{"Panel", "int", "from one panel's weights to the next's"},
			{"InAt", "[4]int", "of the four pixels of a quad"},
			{"OutAt", "[4]int", "of their sums"},
			{"Ahead", "*float32", "memory to fetch into the cache while computing"},
			{"Fetched", "int", "bytes of it, which the assembly counts"},
			{"Pace", "int", "bytes of it per input of a window"},
			{"Mask", "[16]int32", "all bits of the valid lanes"},
		}}
}

// outerCall holds the arguments of the tiles of outer products.
func outerCall() layout {
	return layout{"OuterCall", "holds the arguments of the tiles of a sum of outer products. Distances are of bytes.",
		[]field{
			{"A", "*float32", "rows"},
			{"B", "*float32", "columns, from the panel's first on"},
			{"Sums", "*float32", "from the panel's first column on"},
			{"Done", "int", "bytes of the quads dealt with, which the assembly counts"},
			{"Tiles", "int", "1 or more; the assembly counts it down"},
			{"Add", "int", "1: add to the sums in memory"},
			{"Columns", "int", "of a row of sums"},
			{"Count", "[3]int", "images, rows of one, pixels of one"},
			{"StepA", "[3]int", "after the last image, row and pixel"},
			{"StepB", "[3]int", "the same in B"},
			{"Ahead", "*float32", "memory to fetch into the cache while computing"},
			{"Fetched", "int", "bytes of it, which the assembly counts"},
			{"Pace", "int", "bytes of it per pixel"},
			{"Mask", "[16]int32", "all bits of the valid lanes"},
		}}
}

// quadPlaces places four rows of a tile.
func quadPlaces() layout {
	return layout{"Quad", "places four pixels that are computed together, in floats.", []field{
		{"In", "int", "of the inputs"},
		{"Out", "int", "of the sums"},
	}}
}
