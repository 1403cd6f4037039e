package yamlfile

import (
	"fmt"
	"io"
	"os"
)

// most is the size of the largest file that is read: one that never ends is a
// mistake, such as a device.
const most = 16 << 20

// Read reads a file.
func Read(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the file that the user names
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return ReadFrom(path, file)
}

// ReadFrom reads all of a stream that is called name. One that is too large is a
// *LineError.
func ReadFrom(name string, stream io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(stream, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > most {
		return nil, &LineError{name, 0, fmt.Sprintf("holds more than %d MB: give the file that was meant", most>>20)} //nolint:mnd // bytes in a megabyte
	}
	return text, nil
}
