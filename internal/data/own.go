package data

// A set of the user in a folder has this name and two files, and is in no list.
const (
	libsvmName  = "libsvm"
	libsvmTrain = "train.libsvm"
	libsvmTest  = "test.libsvm"
)

// FolderSpec names the files of the set libsvm in a folder. It returns *MissingError if one does not exist.
func FolderSpec(dir string) (FileSpec, error) {
	spec := FileSpec{Set: libsvmName, AnyNumber: true}
	var err error
	if spec.Path, err = locate(libsvmName, dir, libsvmTrain); err == nil {
		spec.Test, err = locate(libsvmName, dir, libsvmTest)
	}
	return spec, err
}
