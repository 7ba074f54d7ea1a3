package data

import (
	"encoding/binary"
	"io"
)

// EXIF, CIPA DC-008: cameras store a picture as its sensor lies, and say in a tag how to turn it. The tag is in a
// segment APP1 of JPEG and in a chunk eXIf of PNG, in the layout of TIFF files.

// An orientation is the value of the EXIF tag of that name, 1 to 8; 1 leaves a picture as it is.
type orientation uint8

const upright orientation = 1

// exifBytes bounds the EXIF data of a picture: those of a JPEG segment.
const exifBytes = 1 << 16

// orientationOf returns the orientation that a picture asks for, upright where it says none or is damaged.
func orientationOf(r io.ReadSeeker, isPNG bool) orientation {
	if isPNG {
		return tiffOrientation(pngExif(r))
	}
	return tiffOrientation(jpegExif(r))
}

// jpegExif returns the EXIF data of a JPEG file, nil without any.
func jpegExif(r io.ReadSeeker) []byte {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:2]); err != nil {
		return nil
	}
	for {
		if _, err := io.ReadFull(r, b[:2]); err != nil || b[0] != 0xff {
			return nil
		}
		for b[1] == 0xff { // fill bytes
			if _, err := io.ReadFull(r, b[1:2]); err != nil {
				return nil
			}
		}
		marker := b[1]
		if marker == 0x01 || marker >= 0xd0 && marker <= 0xd7 {
			continue // without content
		}
		if marker == 0xda || marker == 0xd9 { // pixels, or the end
			return nil
		}
		if _, err := io.ReadFull(r, b[2:]); err != nil {
			return nil
		}
		left := int(binary.BigEndian.Uint16(b[2:])) - 2
		if left < 0 {
			return nil
		}
		if marker != 0xe1 {
			if _, err := r.Seek(int64(left), io.SeekCurrent); err != nil {
				return nil
			}
			continue
		}
		content := make([]byte, left)
		if _, err := io.ReadFull(r, content); err != nil {
			return nil
		}
		if len(content) > 6 && string(content[:6]) == "Exif\x00\x00" {
			return content[6:]
		}
	}
}

// pngExif returns the EXIF data of a PNG file, nil without any.
func pngExif(r io.ReadSeeker) []byte {
	if _, err := r.Seek(8, io.SeekCurrent); err != nil { // behind the signature
		return nil
	}
	for {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil
		}
		length, kind := int64(binary.BigEndian.Uint32(head[:4])), string(head[4:])
		if kind == "IEND" || kind == "eXIf" && length > exifBytes {
			return nil
		}
		if kind == "eXIf" {
			content := make([]byte, length)
			if _, err := io.ReadFull(r, content); err != nil {
				return nil
			}
			return content
		}
		if _, err := r.Seek(length+4, io.SeekCurrent); err != nil { // content and checksum
			return nil
		}
	}
}

// tiffOrientation returns the tag of the first directory.
func tiffOrientation(b []byte) orientation {
	const tag, short = 0x0112, 3
	if len(b) < 8 {
		return upright
	}
	var order binary.ByteOrder
	switch string(b[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return upright
	}
	at := int64(order.Uint32(b[4:]))
	if at > int64(len(b))-2 {
		return upright
	}
	entries := b[at+2:]
	for range order.Uint16(b[at:]) {
		if len(entries) < 12 {
			return upright
		}
		if order.Uint16(entries) == tag {
			v := order.Uint16(entries[8:])
			if order.Uint16(entries[2:]) != short || v < 1 || v > 8 {
				return upright
			}
			return orientation(v)
		}
		entries = entries[12:]
	}
	return upright
}

// swaps reports whether width and height change places.
func (o orientation) swaps() bool { return o >= 5 }

// source returns the pixel of a stored picture of w by h pixels that lies at x, y of the turned one.
func (o orientation) source(x, y, w, h int) (fromX, fromY int) {
	if o.swaps() {
		x, y = y, x
	}
	switch o {
	case 2, 3, 7, 8:
		x = w - 1 - x
	}
	switch o {
	case 3, 4, 6, 7:
		y = h - 1 - y
	}
	return x, y
}
