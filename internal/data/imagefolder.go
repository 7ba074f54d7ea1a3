package data

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gossiptrainer/model/sample"
)

const imagePixels = 1 << 24 // of a picture

// An imageFolder is a folder with one folder of pictures per class. Samples are in the order of the classes' and files'
// names.
type imageFolder struct {
	path  string
	files []imageFile
	made  form
}

type imageFile struct{ path, class string }

var _ rows = (*imageFolder)(nil)

// openImages reads the names and the sizes of all pictures.
func openImages(path string, c Columns) (*imageFolder, error) {
	if c.Label != "" || len(c.Features) > 0 || len(c.Skip) > 0 {
		return nil, atFile(path, "a folder of pictures has no columns: data.label, data.features and data.skip do not apply")
	}
	t := &imageFolder{path: path}
	classes, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	count := 0
	for _, class := range classes {
		switch {
		case strings.HasPrefix(class.Name(), "."):
			continue
		case !class.IsDir():
			return nil, atFile(filepath.Join(path, class.Name()), "want one folder of pictures per class, and no file "+
				"beside them")
		}
		count++
		if err := t.addClass(class.Name()); err != nil {
			return nil, err
		}
	}
	if count == 0 {
		return nil, atFile(path, "the folder is empty: want one folder of pictures per class")
	}
	return t, t.measure()
}

// addClass notes the pictures of a class.
func (t *imageFolder) addClass(name string) error {
	dir := filepath.Join(t.path, name)
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	before := len(t.files)
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		switch {
		case strings.HasPrefix(f.Name(), "."), f.Name() == "Thumbs.db":
			continue
		case f.IsDir():
			return atFile(path, "a folder in the class %s: want pictures only; name the folder above the classes with data.path",
				name)
		}
		t.files = append(t.files, imageFile{path, name})
	}
	if len(t.files) == before {
		return atFile(dir, "no picture of this class")
	}
	return nil
}

// measure reads the headers of all pictures, which must have one size.
func (t *imageFolder) measure() error {
	channels := 1
	var first image.Config
	for i, f := range t.files {
		picture, err := f.header()
		if err != nil {
			return err
		}
		if i == 0 {
			first = picture
		}
		if picture.Width != first.Width || picture.Height != first.Height {
			return atFile(f.path, "%d x %d pixels, but %s has %d x %d: scale all to one size", picture.Width, picture.Height,
				t.files[0].path, first.Width, first.Height)
		}
		if picture.ColorModel != color.GrayModel && picture.ColorModel != color.Gray16Model {
			channels = 3
		}
	}
	t.made = form{format: "pictures by folder", label: "the folders", pixels: true,
		shape: sample.Shape{H: first.Height, W: first.Width, C: channels}}
	return nil
}

// header returns size and colours of a picture.
func (f imageFile) header() (c image.Config, err error) {
	err = f.open(func(r io.Reader, isPNG bool) (err error) {
		if c, err = decodeConfig(r, isPNG); err != nil {
			return err
		}
		if c.Width < 1 || c.Height < 1 || c.Width > imagePixels/c.Height {
			return fmt.Errorf("%d x %d pixels: want at most %d in all", c.Width, c.Height, imagePixels)
		}
		return nil
	})
	return c, err
}

func decodeConfig(r io.Reader, isPNG bool) (image.Config, error) {
	if isPNG {
		return png.DecodeConfig(r)
	}
	return jpeg.DecodeConfig(r)
}

// open passes a picture from its beginning.
func (f imageFile) open(read func(r io.Reader, isPNG bool) error) error {
	file, err := os.Open(f.path)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	defer file.Close()
	var magic [4]byte
	_, _ = io.ReadFull(file, magic[:]) // a short file has no magic
	isPNG, isJPEG := bytes.Equal(magic[:], []byte("\x89PNG")), bytes.HasPrefix(magic[:], []byte{0xff, 0xd8})
	if !isPNG && !isJPEG {
		return atFile(f.path, "neither PNG nor JPEG: convert it, or move it away")
	}
	if err := read(io.MultiReader(bytes.NewReader(magic[:]), file), isPNG); err != nil {
		return atFile(f.path, "%w", err)
	}
	return nil
}

func (t *imageFolder) form() form { return t.made }

func (t *imageFolder) scan(see func(int, record) error, _ func(*CellError) error) error {
	bounds := image.Rect(0, 0, t.made.shape.W, t.made.shape.H)
	pixels := make([]uint8, t.made.shape.Features())
	for i, f := range t.files {
		err := f.open(func(r io.Reader, isPNG bool) error {
			picture, err := decodePicture(r, isPNG)
			if err != nil {
				return err
			}
			if picture.Bounds().Size() != bounds.Size() {
				return fmt.Errorf("the picture has changed its size")
			}
			if t.made.shape.C == 1 {
				grey := &image.Gray{Pix: pixels, Stride: bounds.Dx(), Rect: bounds}
				draw.Draw(grey, bounds, picture, picture.Bounds().Min, draw.Src)
				return nil
			}
			colours := image.NewRGBA(bounds) // values of transparent pixels fade to black
			draw.Draw(colours, bounds, picture, picture.Bounds().Min, draw.Src)
			for k := range len(pixels) / 3 {
				copy(pixels[3*k:3*k+3], colours.Pix[4*k:])
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := see(i, record{label: f.class, bytes: pixels}); err != nil {
			return atFile(f.path, "%w", err)
		}
	}
	return nil
}

func decodePicture(r io.Reader, isPNG bool) (image.Image, error) {
	if isPNG {
		return png.Decode(r)
	}
	return jpeg.Decode(r)
}
