package table

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// textFile is a temporary file of texts. It lives as long as any view of it.
type textFile struct {
	file *os.File // nil if there is none
	err  atomic.Pointer[error]

	mu   sync.Mutex
	end  int64  // of what is in the file
	tail []byte // what comes next, because texts are asked for soon
	from int64  // offset of read
	read []byte // what was read last, because others are asked for in their order
}

const (
	tailBytes = 1 << 20
	readBytes = 8 << 10
)

func newTextFile() *textFile {
	file, err := os.CreateTemp("", "tpconvert-texts-*")
	if err != nil {
		return &textFile{}
	}
	// If the system cannot unlink an open file, the file would be left behind.
	if os.Remove(file.Name()) != nil {
		file.Close()
		os.Remove(file.Name())
		return &textFile{}
	}
	return &textFile{file: file}
}

// write adds a text and returns its offset, or false if that fails.
func (t *textFile) write(b []byte) (int64, bool) {
	if t.file == nil {
		return 0, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.tail)+len(b) > tailBytes && !t.flush(len(t.tail)/2) {
		return 0, false
	}
	if len(b) <= tailBytes/2 {
		t.tail = append(t.tail, b...)
		return t.end + int64(len(t.tail)-len(b)), true
	}
	if !t.flush(len(t.tail)) || !t.append(b) {
		return 0, false
	}
	return t.end - int64(len(b)), true
}

// flush moves the first bytes of the tail to the file.
func (t *textFile) flush(n int) bool {
	if !t.append(t.tail[:n]) {
		return false
	}
	t.tail = t.tail[:copy(t.tail, t.tail[n:])]
	return true
}

func (t *textFile) append(b []byte) bool {
	_, err := t.file.WriteAt(b, t.end)
	if err == nil {
		t.end += int64(len(b))
	}
	return err == nil
}

// get reads a text at an offset.
func (t *textFile) get(b []byte, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	part := b[:max(0, min(int64(len(b)), t.end-at))]
	if err := t.load(part, at); err != nil {
		err = fmt.Errorf("texts kept on disk: %w", err)
		t.err.CompareAndSwap(nil, &err)
	}
	if rest := b[len(part):]; len(rest) > 0 {
		copy(rest, t.tail[at+int64(len(part))-t.end:])
	}
}

// load reads what is in the file. Of short texts it reads those ahead, too.
func (t *textFile) load(b []byte, at int64) error {
	switch {
	case len(b) == 0:
		return nil
	case len(b) > readBytes:
		_, err := t.file.ReadAt(b, at)
		return err
	case at < t.from || at+int64(len(b)) > t.from+int64(len(t.read)):
		n := int(min(readBytes, t.end-at))
		t.from, t.read = at, slices.Grow(t.read[:0], n)[:n]
		if _, err := t.file.ReadAt(t.read, at); err != nil {
			t.read = nil
			return err
		}
	}
	copy(b, t.read[at-t.from:])
	return nil
}

func (t *textFile) failure() error {
	if t == nil {
		return nil
	}
	if err := t.err.Load(); err != nil {
		return *err
	}
	return nil
}
