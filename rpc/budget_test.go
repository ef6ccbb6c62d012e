package rpc

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// zeros is n bytes that take no memory before they are read.
func zeros(n int64) io.Reader { return io.LimitReader(endless{}, n) }

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestSmallRequests checks that large requests, as one or in parts, leave memory for small ones, and that all of it is given back.
func TestSmallRequests(t *testing.T) {
	var b budget
	if _, err := b.readAll(zeros(maxBodies), 0); !errors.Is(err, errBusy) {
		t.Errorf("a request as large as all memory: %v", err)
	}
	if used := b.used.Load(); used != 0 {
		t.Errorf("%d bytes count after a failure", used)
	}
	held := int64(0)
	for {
		part, err := b.readAll(zeros(smallBody), held)
		if err != nil {
			break
		}
		held += int64(len(part))
	}
	if most := int64(maxBodies - forSmall); held > most || held < most-smallBody {
		t.Errorf("a client that sends parts holds %d bytes, want about %d", held, most)
	}
	small := 0
	for {
		text, err := b.readAll(bytes.NewReader(make([]byte, smallBody/4)), 0)
		if err != nil {
			break
		}
		small += len(text)
	}
	if small < forSmall/2 {
		t.Errorf("others hold %d bytes", small)
	}
	b.free(int(held) + small)
	if used := b.used.Load(); used != 0 {
		t.Errorf("%d bytes count at the end", used)
	}
}
