package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// fileURL returns the URL of a path, that of a folder with a slash at its end, and leaves URLs as they are.
func fileURL(path string) string {
	if strings.Contains(path, "://") {
		return path
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		absolute = path
	}
	if info, err := os.Stat(absolute); strings.HasSuffix(path, "/") || err == nil && info.IsDir() {
		absolute += "/"
	}
	return "file://" + absolute
}

// readFileOr returns the content of a file, or of the standard input if its name is -.
func readFileOr(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}
