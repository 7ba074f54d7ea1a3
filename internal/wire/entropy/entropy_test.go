package entropy

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"gossiptrainer/quant"
)

// allCoders are the coders that shorten payloads.
var allCoders = []Coder{Huff0, FSE, Zstd, Bzip2}

// symbolsOf returns a payload of layout l whose symbols are mostly small, as coders need them. Words of 4 bytes are
// similar floats.
func symbolsOf(t testing.TB, l quant.Layout, seed uint64) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	var payload []byte
	for left := l.Count; left > 0; {
		m := left
		if l.Bucket > 0 {
			m = min(l.Bucket, left)
		}
		left -= m
		for range l.Head {
			payload = append(payload, byte(r.Uint32()))
		}
		payload = append(payload, body(t, l, m, r)...)
	}
	for range l.Tail {
		payload = append(payload, byte(r.Uint32()))
	}
	return payload
}

func body(t testing.TB, l quant.Layout, m int, r *rand.Rand) []byte {
	t.Helper()
	if l.Levels == 0 {
		var b []byte
		for range m {
			word := math.Float64bits(r.NormFloat64())
			if l.Word <= 4 {
				word = uint64(math.Float32bits(float32(r.NormFloat64())))
			}
			for i := range l.Word {
				b = append(b, byte(word>>(8*i)))
			}
		}
		return b
	}
	symbols := make([]uint16, m)
	for i := range symbols {
		symbols[i] = uint16(min(math.Abs(r.NormFloat64())*float64(l.Levels)/8, float64(l.Levels-1)))
	}
	packing, err := quant.NewPacking(l.Levels)
	if err != nil {
		t.Fatal(err)
	}
	b, err := packing.Pack(nil, symbols)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustEncoder(t testing.TB, c Coder) *Encoder {
	t.Helper()
	e, err := NewEncoder(c, Typical())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// code encodes payload and makes sure that it comes back.
func code(t testing.TB, e *Encoder, d *Decoder, payload []byte, l quant.Layout, link LinkCost) (
	coded []byte, by Coder,
) {
	t.Helper()
	coded, by, err := e.Encode([]byte("before"), payload, l, link)
	if err != nil {
		t.Fatalf("%v: %+v: %v", e.choice, l, err)
	}
	coded, ok := bytes.CutPrefix(coded, []byte("before"))
	if !ok || by == Plain && len(coded) > 0 || len(coded) >= len(payload) && len(payload) > 0 {
		t.Fatalf("%v: %+v: %v wrote %d bytes for %d", e.choice, l, by, len(coded), len(payload))
	}
	if by == Plain {
		return payload, by
	}
	n, err := Len(coded, len(payload))
	if err != nil || n != len(payload) {
		t.Fatalf("%v: %+v: announces %d bytes (%v), has %d", by, l, n, err, len(payload))
	}
	back := bytes.Repeat([]byte{0xAA}, n)
	if err := d.Decode(back, by, coded); err != nil {
		t.Fatalf("%v: %+v: %v", by, l, err)
	}
	if !bytes.Equal(back, payload) {
		t.Fatalf("%v: %+v: another payload comes back", by, l)
	}
	return coded, by
}

// layouts are payloads of all kinds of cuts.
func layouts() []quant.Layout {
	var all []quant.Layout
	for _, levels := range []int{2, 3, 4, 5, 8, 9, 15, 16, 17, 32, 64, 100, 128, 255, 256, 257, 512, 1000, 4096, 65535,
		65536} {
		for _, count := range []int{3000, 70_001} {
			all = append(all, quant.Layout{Levels: levels, Count: count, Tail: 8},
				quant.Layout{Levels: levels, Count: count, Bucket: 1000, Head: 4})
		}
	}
	for word := 1; word <= 8; word++ {
		all = append(all, quant.Layout{Word: word, Count: 5000},
			quant.Layout{Word: word, Count: 5000, Bucket: 999, Head: 3, Tail: 1})
	}
	return append(all, quant.Floats(400_000), quant.Layout{Levels: 256, Count: 3_000_000})
}

func TestPayloadsComeBackBitForBit(t *testing.T) {
	for _, c := range allCoders {
		t.Run(c.String(), func(t *testing.T) {
			e, d := mustEncoder(t, c), new(Decoder)
			coded := 0
			for i, l := range layouts() {
				if c == Bzip2 && l.Count > 100_000 {
					continue
				}
				if _, by := code(t, e, d, symbolsOf(t, l, uint64(i)), l, 0); by == c {
					coded++
				}
			}
			if coded < 80 {
				t.Errorf("only %d payloads were coded", coded)
			}
		})
	}
}

func TestWhatCannotBeCodedIsSentAsItIs(t *testing.T) {
	noise := make([]byte, 100_000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for _, c := range allCoders {
		e, d := mustEncoder(t, c), new(Decoder)
		for _, payload := range [][]byte{nil, {1}, {7, 7, 7}, noise} {
			if _, by := code(t, e, d, payload, quant.Bytes(len(payload)), 0); by != Plain {
				t.Errorf("%v codes %d bytes of noise", c, len(payload))
			}
		}
		if same, by := code(t, e, d, make([]byte, 1<<20), quant.Bytes(1<<20), 0); by != c || len(same) > 100 {
			t.Errorf("%v: %d bytes for a million zeros", by, len(same))
		}
	}
}

func TestAPayloadOfAnotherLayoutIsAnError(t *testing.T) {
	payload := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 255}
	for name, l := range map[string]quant.Layout{
		"another length":  quant.Bytes(9),
		"no layout":       {Levels: 1, Count: 80},
		"no such symbols": {Levels: 3, Count: 40 + 10},
	} {
		if l.Levels == 3 {
			payload = bytes.Repeat([]byte{255}, l.Len())
		}
		dst, by, err := mustEncoder(t, Huff0).Encode([]byte("before"), payload, l, 0)
		if err == nil || by != Plain || string(dst) != "before" {
			t.Errorf("%s: %v, error %v, dst of %d bytes", name, by, err, len(dst))
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range append(allCoders, Plain, Auto) {
		if got, err := Parse(c.String()); got != c || err != nil {
			t.Errorf("%v is parsed as %v, %v", c, got, err)
		}
	}
	if _, err := Parse("gzip"); err == nil {
		t.Error("gzip is a coder")
	}
	if got := Coder(9).String(); got != "coder 9" {
		t.Errorf("coder 9 is called %q", got)
	}
	if _, err := NewEncoder(9, Typical()); err == nil {
		t.Error("there is an encoder for coder 9")
	}
}

// The fast coders gain nearly as much as the slow ones on symbols of unequal frequency, and come within a few per cent
// of the entropy.
func TestCodersReachTheEntropy(t *testing.T) {
	for _, test := range []struct {
		levels int
		spread float64 // of a normal distribution, in symbols
		worst  map[Coder]float64
	}{
		{256, 30, map[Coder]float64{Huff0: 1.02, FSE: 1.02, Zstd: 1.05, Bzip2: 1.15}},
		{8, 1, map[Coder]float64{Huff0: 1.02, FSE: 1.02, Zstd: 1.05, Bzip2: 1.2}},
		{3, 0.2, map[Coder]float64{Huff0: 2.3, FSE: 1.1, Zstd: 2.3, Bzip2: 2}},
		{2, 0.5, map[Coder]float64{Huff0: 1.1, FSE: 1.05, Zstd: 1.3, Bzip2: 1.4}},
	} {
		l := quant.Layout{Levels: test.levels, Count: 1 << 18}
		payload, ideal := normal(t, test.levels, test.spread, l.Count)
		for c, worst := range test.worst {
			coded, _ := code(t, mustEncoder(t, c), new(Decoder), payload, l, 0)
			if got := float64(len(coded)) / ideal; got > worst {
				t.Errorf("%d levels, spread %v: %v writes %.3f times the entropy, at most %v", test.levels, test.spread, c, got,
					worst)
			}
		}
	}
}

// normal returns symbols ⌊spread·z + 1/2⌋ mod N of normal z, packed, and the
// bytes of their entropy.
func normal(t testing.TB, levels int, spread float64, count int) (payload []byte, entropy float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	symbols, seen := make([]uint16, count), make([]float64, levels)
	for i := range symbols {
		v := int(math.Floor(spread*r.NormFloat64() + 0.5))
		symbols[i] = uint16(((v % levels) + levels) % levels)
		seen[symbols[i]]++
	}
	for _, n := range seen {
		if n > 0 {
			entropy -= n * math.Log2(n/float64(count)) / 8
		}
	}
	packing, err := quant.NewPacking(levels)
	if err != nil {
		t.Fatal(err)
	}
	if payload, err = packing.Pack(nil, symbols); err != nil {
		t.Fatal(err)
	}
	return payload, entropy
}

func TestFloatsGainByPlanes(t *testing.T) {
	payload := symbolsOf(t, quant.Floats(100_000), 5)
	planes, _ := code(t, mustEncoder(t, Huff0), new(Decoder), payload, quant.Floats(100_000), 0)
	mixed, _ := code(t, mustEncoder(t, Huff0), new(Decoder), payload, quant.Bytes(len(payload)), 0)
	if float64(len(planes)) > 0.88*float64(len(payload)) || len(planes) >= len(mixed) {
		t.Errorf("%d bytes: %d as planes, %d without", len(payload), len(planes), len(mixed))
	}
}

func TestCodingCostsNoAllocation(t *testing.T) {
	for _, l := range []quant.Layout{
		{Levels: 256, Count: 200_000, Tail: 8}, {Levels: 8, Count: 200_000}, quant.Floats(50_000),
		{Levels: 16, Count: 100_000, Bucket: 8192, Head: 4}, {Levels: 1024, Count: 50_000},
	} {
		for _, c := range []Coder{Huff0, FSE, Auto} {
			e, d := mustEncoder(t, c), new(Decoder)
			payload := symbolsOf(t, l, 1)
			back := make([]byte, len(payload))
			var dst []byte
			got := testing.AllocsPerRun(20, func() {
				var err error
				var by Coder
				if dst, by, err = e.Encode(dst[:0], payload, l, 1e-6); err == nil {
					err = d.Decode(back, by, dst)
				}
				if err != nil {
					t.Fatal(err)
				}
			})
			if got != 0 {
				t.Errorf("%v: %+v: %v allocations", c, l, got)
			}
		}
	}
}

func TestAutoTakesWhatIsOverSoonest(t *testing.T) {
	skewed, _ := normal(t, 256, 30, 1<<17)
	strongly, _ := normal(t, 2, 0.25, 1<<20)
	uniform, _ := normal(t, 256, 1000, 1<<17)
	for _, test := range []struct {
		name    string
		payload []byte
		levels  int
		rate    float64 // bits per second
		want    Coder
	}{
		{"no limit", skewed, 256, math.Inf(1), Plain},
		{"a fast link", skewed, 256, 10e9, Plain},
		{"a slow link", skewed, 256, 20e6, Huff0},
		{"a slow link, nothing to gain", uniform, 256, 20e6, Plain},
		{"a slow link, less than a bit to a byte", strongly, 2, 1e6, FSE},
		{"a faster link, less than a bit to a byte", strongly, 2, 500e6, Huff0},
	} {
		l := quant.Layout{Levels: test.levels, Count: len(test.payload)}
		if test.levels == 2 {
			l.Count *= 8
		}
		if _, by := code(t, mustEncoder(t, Auto), new(Decoder), test.payload, l, LinkCost(8/test.rate)); by != test.want {
			t.Errorf("%s: %v, want %v", test.name, by, test.want)
		}
	}
}

// The estimate that decides for Auto is close to the bytes that the coders write.
func TestEstimatesAreNearTheTruth(t *testing.T) {
	for _, test := range []struct {
		levels int
		spread float64
	}{{256, 50}, {256, 5}, {16, 2}, {4, 0.5}, {2, 0.3}} {
		l := quant.Layout{Levels: test.levels, Count: 1 << 18}
		payload, _ := normal(t, test.levels, test.spread, l.Count)
		huff, fse := new(probe).estimate(payload)
		for c, estimate := range map[Coder]float64{Huff0: huff, FSE: fse} {
			coded, _ := code(t, mustEncoder(t, c), new(Decoder), payload, l, 0)
			if off := math.Abs(estimate/float64(len(coded)) - 1); off > 0.08 {
				t.Errorf("%v: %d levels, spread %v: estimated %.0f bytes, written %d", c, test.levels, test.spread, estimate,
					len(coded))
			}
		}
	}
}

func TestGarbageIsRefused(t *testing.T) {
	l := quant.Layout{Levels: 9, Count: 5000, Bucket: 1200, Head: 4, Tail: 8}
	payload := symbolsOf(t, l, 3)
	for _, c := range allCoders {
		good, _ := code(t, mustEncoder(t, c), new(Decoder), payload, l, 0)
		good = bytes.Clone(good)
		for name, bad := range map[string][]byte{
			"nothing": nil, "half a prefix": good[:7], "the prefix": good[:prefixLen], "without its end": good[:len(good)-1],
			"with more": append(bytes.Clone(good), 0), "another flag": with(good, prefixLen+l.Head*l.Buckets()+l.Tail, 3),
			"other levels": with(good, atLevels, 200), "no levels": with(good, atLevels, 0),
			"another count": with(good, atCount, 1),
			"words as well": with(good, atWord, 4), "no symbols": with(good, atCount+1, 0),
		} {
			n, err := Len(bad, len(payload))
			if err == nil {
				err = new(Decoder).Decode(make([]byte, n), c, bad)
			}
			if !errors.Is(err, ErrCoded) {
				t.Errorf("%v: %s: error %v", c, name, err)
			}
		}
		for _, other := range []Coder{Plain, coders, Auto} {
			if err := new(Decoder).Decode(make([]byte, len(payload)), other, good); !errors.Is(err, ErrCoded) {
				t.Errorf("%v decodes: %v", other, err)
			}
		}
		if err := new(Decoder).Decode(make([]byte, len(payload)+1), c, good); !errors.Is(err, ErrCoded) {
			t.Errorf("%v: a buffer of another length: %v", c, err)
		}
	}
}

func with(b []byte, at int, v byte) []byte {
	b = bytes.Clone(b)
	b[at] = v
	return b
}

// A payload that is far shorter than it announces, or holds far more, costs no more memory than the largest payload of
// the run.
func TestBombsAreBounded(t *testing.T) {
	const limit = 1 << 20
	huge := quant.Bytes(100 << 20)
	for _, c := range allCoders {
		zeros := make([]byte, huge.Count)
		zeros[1] = 1 // otherwise the block is a run
		if c == Bzip2 {
			huge.Count, zeros = 8<<20, zeros[:8<<20]
		}
		bomb, _, err := mustEncoder(t, c).Encode(nil, zeros, huge, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Len(bomb, limit); !errors.Is(err, ErrCoded) {
			t.Errorf("%v: %d bytes that announce %d: %v", c, len(bomb), huge.Count, err)
		}
		// The same content under a prefix that announces less.
		lie := append(appendPrefix(nil, quant.Bytes(limit)), bomb[prefixLen:]...)
		n, err := Len(lie, limit)
		if err != nil {
			t.Fatal(err)
		}
		payload, before := make([]byte, n), allocated()
		if err := new(Decoder).Decode(payload, c, lie); !errors.Is(err, ErrCoded) {
			t.Errorf("%v: %d bytes under a prefix of %d: %v", c, huge.Count, limit, err)
		}
		if took := allocated() - before; took > 16*limit {
			t.Errorf("%v: a bomb of %d bytes under a limit of %d took %d bytes of memory", c, huge.Count, limit, took)
		}
	}
	for name, l := range map[string]quant.Layout{
		"of heads":   {Word: 1, Count: math.MaxInt32, Bucket: 1, Head: math.MaxUint16},
		"of words":   {Word: 8, Count: math.MaxInt32},
		"of symbols": {Levels: 2, Count: 8*limit + 1},
	} {
		if _, err := Len(appendPrefix(nil, l), limit); !errors.Is(err, ErrCoded) {
			t.Errorf("a bomb %s: %v", name, err)
		}
	}
}

// allocated returns the bytes that this process has ever allocated.
func allocated() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.TotalAlloc)
}

func ExampleCoder() {
	c, err := Parse("gzip")
	fmt.Println(c, err)
	// Output: none entropy: coder "gzip": must be one of [none huff0 fse zstd bzip2] or auto
}
