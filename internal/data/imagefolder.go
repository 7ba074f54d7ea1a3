package data

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gossiptrainer/internal/human"
	"gossiptrainer/model/sample"
)

const imagePixels = 1 << 24 // of a picture

// An imageFolder is a folder with one folder of pictures per class. Samples are in the order of the classes' and files'
// names. Where no labels are wanted, pictures may lie in the folder itself.
type imageFolder struct {
	path   string
	files  []imageFile
	others map[string][]string // paths of the files that are no pictures, by name
	made   form
}

type imageFile struct {
	path, class string
	turn        orientation // that EXIF asks for
}

var _ rows = (*imageFolder)(nil)

// openImages reads the names and the sizes of all pictures.
func openImages(path string, c Columns) (*imageFolder, error) {
	if c.Label != "" || len(c.Features) > 0 || len(c.Skip) > 0 {
		return nil, atFile(path, "a folder of pictures has no columns: data.label, data.features and data.skip do not apply")
	}
	t := &imageFolder{path: path, others: map[string][]string{}}
	count := 0
	err := visible(path, func(name string, isFolder bool) error {
		file := filepath.Join(path, name)
		if isFolder {
			count++
			return t.addClass(name)
		}
		isPicture, err := picturable(file)
		switch {
		case isPicture && c.NoLabel:
			count++
			t.files = append(t.files, imageFile{file, "", upright})
			return nil
		case isPicture:
			return atFile(file, "want one folder of pictures per class, and no picture beside them")
		}
		t.others[name] = append(t.others[name], file)
		return err
	})
	if err != nil {
		return nil, err
	}
	if count == 0 {
		return nil, atFile(path, "no folder and no picture in it: want one folder of pictures per class")
	}
	return t, t.measure()
}

// openPicture opens one picture as a sample without a label.
func openPicture(path string, c Columns) (*imageFolder, error) {
	if !c.NoLabel {
		return nil, atOffset(path, 0, "%s", onePicture)
	}
	t := &imageFolder{path: path, files: []imageFile{{path, "", upright}}}
	return t, t.measure()
}

// names returns the names of the pictures beneath the folder.
func (t *imageFolder) names() []string {
	all := make([]string, len(t.files))
	for i, f := range t.files {
		if all[i] = t.within(f.path); all[i] == "" {
			all[i] = filepath.Base(f.path)
		}
	}
	return all
}

// within returns the path of a file as seen from the folder.
func (t *imageFolder) within(path string) string {
	return filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(path, t.path), string(filepath.Separator)))
}

// visible passes the entries of a folder of pictures by name. It follows links, and leaves out hidden entries and the
// folder that macOS puts into zip files.
func visible(dir string, see func(name string, isFolder bool) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || name == "__MACOSX" {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, name))
		switch {
		case os.IsNotExist(err):
			return atFile(filepath.Join(dir, name), "a link to a file that does not exist")
		case err != nil:
			return fmt.Errorf("data: %w", err)
		case !info.IsDir() && !info.Mode().IsRegular():
			return atFile(filepath.Join(dir, name), "neither a regular file nor a folder")
		}
		if err := see(name, info.IsDir()); err != nil {
			return err
		}
	}
	return nil
}

// picturable reports whether a file is a picture by its content or its name. Those by name alone cannot be read.
func picturable(path string) (bool, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".pbm",
		".jp2", ".heic", ".heif", ".avif", ".svg":
		return true, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("data: %w", err)
	}
	defer file.Close()
	isPNG, isJPEG := pictureKind(file)
	return isPNG || isJPEG, nil
}

// pictureKind reads the first bytes of a file.
func pictureKind(r io.Reader) (isPNG, isJPEG bool) {
	var magic [4]byte
	_, _ = io.ReadFull(r, magic[:]) // a short file has no magic
	return bytes.Equal(magic[:], []byte("\x89PNG")), bytes.HasPrefix(magic[:], []byte{0xff, 0xd8})
}

// addClass notes the pictures of a class.
func (t *imageFolder) addClass(name string) error {
	dir, before := filepath.Join(t.path, name), len(t.files)
	err := visible(dir, func(file string, isFolder bool) error {
		path := filepath.Join(dir, file)
		if isFolder {
			return atFile(path, "a folder in the class %s: want pictures only; name the folder above the classes with "+
				"data.path, and that of a test part with data.test", name)
		}
		isPicture, err := picturable(path)
		if isPicture {
			t.files = append(t.files, imageFile{path, name, upright})
		} else {
			t.others[file] = append(t.others[file], path)
		}
		return err
	})
	if err == nil && len(t.files) == before {
		return atFile(dir, "no picture of this class: put some into the folder, or remove it")
	}
	return err
}

// measure reads the headers of all pictures, which must have one size.
func (t *imageFolder) measure() error {
	channels, turned := 1, 0
	sizes := map[image.Point][]string{} // files
	for i, f := range t.files {
		picture, err := t.files[i].header()
		if err != nil {
			return err
		}
		if t.files[i].turn != upright {
			turned++
		}
		size := image.Pt(picture.Width, picture.Height)
		sizes[size] = append(sizes[size], f.path)
		if picture.ColorModel != color.GrayModel && picture.ColorModel != color.Gray16Model {
			channels = 3
		}
	}
	size, err := t.oneSize(sizes)
	if err != nil {
		return err
	}
	t.made = form{format: "pictures by folder", label: "the folders", pixels: true,
		shape: sample.Shape{H: size.Y, W: size.X, C: channels}}
	if turned > 0 {
		t.made.notes = append(t.made.notes, human.Count(turned, "picture")+" "+human.Verb(turned, "is", "are")+
			" turned as the EXIF orientation says")
	}
	t.noteOthers()
	return nil
}

// oneSize returns the size of all pictures. Its error counts the sizes, and names a picture of the rarest one.
func (t *imageFolder) oneSize(files map[image.Point][]string) (image.Point, error) {
	sizes := slices.SortedFunc(maps.Keys(files), func(a, b image.Point) int {
		return cmp.Or(len(files[b])-len(files[a]), cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y))
	})
	if len(sizes) < 2 {
		return sizes[0], nil
	}
	pixels := func(p image.Point) string { return fmt.Sprintf("%dx%d", p.X, p.Y) }
	counts := make([]string, len(sizes))
	for i, size := range sizes {
		counts[i] = fmt.Sprintf("%s: %d", pixels(size), len(files[size]))
	}
	often, rare := sizes[0], sizes[len(sizes)-1]
	return often, atFile(t.path, "pictures of %d sizes, width x height (%s); %s has %s: resize all to one size, "+
		"such as %s, which %s", len(sizes), several(counts), files[rare][0], pixels(rare), pixels(often),
		human.Count(len(files[often]), "picture")+" "+human.Verb(len(files[often]), "has", "have"))
}

// noteOthers says which files were left out.
func (t *imageFolder) noteOthers() {
	var names []string
	count := 0
	for _, name := range slices.Sorted(maps.Keys(t.others)) {
		paths := t.others[name]
		count += len(paths)
		if name = t.within(paths[0]); len(paths) > 1 {
			name = fmt.Sprintf("%s (%d)", filepath.Base(name), len(paths))
		}
		names = append(names, name)
	}
	if count > 0 {
		t.made.notes = append(t.made.notes, human.Count(count, "file")+" "+human.Verb(count, "is no picture and is",
			"are no pictures and are")+" left out: "+several(names))
	}
}

// header returns size and colours of a picture as it is seen, and notes how it is turned.
func (f *imageFile) header() (c image.Config, err error) {
	err = f.open(func(r io.ReadSeeker, isPNG bool) (err error) {
		f.turn = orientationOf(r, isPNG)
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if c, err = decodeConfig(r, isPNG); err != nil {
			return err
		}
		if c.Width < 1 || c.Height < 1 || c.Width > imagePixels/c.Height {
			return fmt.Errorf("%d x %d pixels: want at most %d in all: resize it", c.Width, c.Height, imagePixels)
		}
		if f.turn.swaps() {
			c.Width, c.Height = c.Height, c.Width
		}
		return nil
	})
	return c, err
}

func decodeConfig(r io.Reader, isPNG bool) (image.Config, error) {
	decode := jpeg.DecodeConfig
	if isPNG {
		decode = png.DecodeConfig
	}
	c, err := decode(r)
	return c, mendable(err)
}

// open passes a picture from its beginning.
func (f imageFile) open(read func(r io.ReadSeeker, isPNG bool) error) error {
	file, err := os.Open(f.path)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	defer file.Close()
	isPNG, isJPEG := pictureKind(file)
	if !isPNG && !isJPEG {
		return atFile(f.path, "neither PNG nor JPEG: convert it, or move it away")
	}
	if _, err = file.Seek(0, io.SeekStart); err == nil {
		err = read(file, isPNG)
	}
	if err != nil {
		return atFile(f.path, "%w", err)
	}
	return nil
}

func (t *imageFolder) form() form   { return t.made }
func (t *imageFolder) file() string { return t.path }

func (t *imageFolder) scan(see func(int, record) error, _ func(*CellError) error) error {
	pixels := make([]uint8, t.made.shape.Features())
	for i, f := range t.files {
		err := f.open(func(r io.ReadSeeker, isPNG bool) error {
			picture, err := decodePicture(r, isPNG)
			if err == nil {
				err = t.draw(pixels, picture, f.turn)
			}
			return err
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

// draw writes the bytes of a picture as it is seen.
func (t *imageFolder) draw(pixels []uint8, picture image.Image, turn orientation) error {
	shape := t.made.shape
	stored := image.Rect(0, 0, shape.W, shape.H)
	if turn.swaps() {
		stored = image.Rect(0, 0, shape.H, shape.W)
	}
	if picture.Bounds().Size() != stored.Size() {
		return fmt.Errorf("the picture has changed its size")
	}
	from, each := []uint8(nil), 1
	if shape.C == 1 {
		grey := image.NewGray(stored)
		draw.Draw(grey, stored, picture, picture.Bounds().Min, draw.Src)
		from = grey.Pix
	} else {
		colours := image.NewRGBA(stored) // values of transparent pixels fade to black
		draw.Draw(colours, stored, picture, picture.Bounds().Min, draw.Src)
		from, each = colours.Pix, 4
	}
	for k := range shape.H * shape.W {
		x, y := turn.source(k%shape.W, k/shape.W, stored.Dx(), stored.Dy())
		copy(pixels[k*shape.C:(k+1)*shape.C], from[each*(y*stored.Dx()+x):])
	}
	return nil
}

func decodePicture(r io.Reader, isPNG bool) (image.Image, error) {
	decode := jpeg.Decode
	if isPNG {
		decode = png.Decode
	}
	picture, err := decode(r)
	return picture, mendable(err)
}

// mendable adds to an error of a decoder what to do about the picture.
func mendable(err error) error {
	_, isPNG := errors.AsType[png.UnsupportedError](err)
	_, isJPEG := errors.AsType[jpeg.UnsupportedError](err)
	switch {
	case err == nil:
		return nil
	case isPNG || isJPEG:
		return fmt.Errorf("%w: save the picture as a plain PNG", err)
	}
	return fmt.Errorf("the picture is damaged (%w): replace it, or move it away", err)
}
