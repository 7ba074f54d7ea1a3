package quant_test

import (
	"fmt"

	"gossiptrainer/quant"
)

func ExampleCompressor() {
	var c quant.Compressor
	c, err := quant.NewQSGD(4, 512, quant.LInf, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	z := make([]float32, 512)
	for i := range z {
		z[i] = float32(i%16) / 15
	}
	payload, err := c.Compress(nil, 0, z)
	if err != nil {
		fmt.Println(err)
		return
	}
	back := make([]float32, len(z))
	if err := c.AddTo(back, 1, 0, payload); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d bytes instead of %d\n", len(payload), 4*len(z))
	fmt.Printf("%.2f became %.2f\n", z[15], back[15])
	fmt.Println(c.AddTo(back, 1, 0, payload[:9]))
	// Output:
	// 260 bytes instead of 2048
	// 1.00 became 1.00
	// quant: qsgd: 9 bytes: 512 coordinates take 260
}

// Five symbols of 0 to 2 take one byte.
func ExampleNewPacking() {
	p, err := quant.NewPacking(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	packed, err := p.Pack(nil, []uint16{2, 0, 1, 1, 2})
	fmt.Println(packed, err)
	// Output:
	// [200] <nil>
}
