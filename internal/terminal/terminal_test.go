package terminal

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"two\nlines": "two\nlines", "\x1b[2J": `\x1b[2J`, "a\tb": `a\tb`, "\xff": `\xff`, "\u202e": `\u202e`, "größe …": "größe …",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestFilesAreNoTerminals(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if Is(f) || Is(t) || Width(f) != 0 {
		t.Error("a file is a terminal")
	}
}
