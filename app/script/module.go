package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/python"
)

// ModuleFolder returns a folder of this user that holds the Python package, the one of this program, and makes it.
func ModuleFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", advice.With(fmt.Errorf("python: no folder for the package: %w", err), "set XDG_CACHE_HOME")
	}
	dir := filepath.Join(cache, "gossiptrainer", "python")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("python: %w", err)
	}
	return dir, python.InstallShort(dir)
}

// where has Python print the folder of its packages. It is a syntax error for a Python that is too old for the package.
const where = `import sys, sysconfig
assert sys.version_info >= (3, 9), 'gossiptrainer needs Python 3.9 or later, not ' + sys.version
print(sysconfig.get_path('purelib'))`

// InstallModule copies gossiptrainer to the packages of a Python, which the program of the given name runs. It returns
// the path of the copy. An active virtual environment is that of the python3 in PATH.
func InstallModule(ctx context.Context, program string) (string, error) {
	cmd := exec.CommandContext(ctx, program, "-c", where)
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("python: %s does not say where its packages are: %w", program, err)
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w\n%s", err, strings.TrimSpace(string(failed.Stderr)))
		}
		return "", advice.Usage(err, "name another: peer python install /usr/bin/python3")
	}
	dir := strings.TrimSpace(string(out))
	if err := python.Install(dir); err != nil {
		return "", advice.With(err, `use a virtual environment, or export PYTHONPATH="$(peer python path)"`)
	}
	return filepath.Join(dir, "gossiptrainer"), nil
}
