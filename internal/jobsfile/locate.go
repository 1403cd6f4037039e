package jobsfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// locate finds a program and checks that it can be executed.
func locate(folder, name string) (string, error) {
	if !strings.ContainsRune(name, '/') && !strings.ContainsRune(name, filepath.Separator) {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("no program %s in PATH: install it, or write its path, such as ./%s", name, name)
		}
		return filepath.Abs(path)
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("no program at %s (paths begin at the folder of this file)", path)
	case err != nil:
		return "", err
	case info.IsDir():
		return "", fmt.Errorf("%s is a folder: write the program in it", path)
	}
	// LookPath with a slash looks at the permission only.
	if _, err := exec.LookPath(path); err != nil {
		return "", fmt.Errorf("%s can't be executed: chmod +x %s", path, path)
	}
	return path, nil
}
