// Package glyphs draws the built-in data set: grey 28×28 pictures of the digits
// 0..9 in the Go fonts, each turned, sheared, scaled, shifted and covered with
// noise. A picture is a function of (seed, index).
//
// It stores no pictures and knows no splits: package data does.
package glyphs

// side is the height and the width of a picture in pixels.
const side = 28

// classes is the number of labels: one per digit.
const classes = 10

// Limits of the random distortion. A draw is uniform within them.
const (
	maxTan   = 0.13 // tangent of half the angle: ±14.8°
	maxShear = 0.25
	maxShift = 2.0  // pixels, each way
	height   = 18.0 // mean height of a digit in pixels
	maxScale = 0.18 // relative change of the height
	maxWidth = 0.18 // relative change of the width beyond that
	minInk   = 130  // grey of the strokes, up to 255
	noise    = 32   // standard deviation of the noise in grey steps
)

// Indices of the random numbers of a picture; one more per pixel from drawNoise on.
const (
	drawFace = iota
	drawTan
	drawShear
	drawScale
	drawWidth
	drawShiftX
	drawShiftY
	drawInk
	drawNoise
)

// Label returns the digit on picture index: the last digit of the index, so that any 10 successive pictures hold every
// digit once.
func Label(index int) uint8 { return uint8(index % classes) }
