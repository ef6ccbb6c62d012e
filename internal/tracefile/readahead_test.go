package tracefile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/iotest"
)

func TestReadAhead(t *testing.T) {
	content := make([]byte, 3<<20+12345)
	rng := rand.NewChaCha8([32]byte{})
	rng.Read(content)
	for name, source := range map[string]io.Reader{
		"whole": bytes.NewReader(content),
		"half":  iotest.HalfReader(bytes.NewReader(content)),
		"eof":   iotest.DataErrReader(bytes.NewReader(content)),
	} {
		var taken atomic.Int64
		a := ReadAhead(t.Context(), source, &taken)
		head := make([]byte, 1000)
		if _, err := io.ReadFull(a, head); err != nil {
			t.Fatal(err)
		}
		if taken.Load() != 1000 || !bytes.Equal(head, content[:1000]) {
			t.Errorf("%s: %d bytes taken, or wrong ones", name, taken.Load())
		}
		rest, err := io.ReadAll(a)
		if err != nil || !bytes.Equal(rest, content[1000:]) {
			t.Errorf("%s: %d bytes, %v", name, len(rest), err)
		}
		size, sum, err := a.Sum()
		if want := sha256.Sum256(content); err != nil || size != int64(len(content)) || sum != hex.EncodeToString(want[:]) {
			t.Errorf("%s: size %d, sum %s, %v", name, size, sum, err)
		}
	}
}

func TestReadAheadErrors(t *testing.T) {
	broken := errors.New("broken")
	a := ReadAhead(t.Context(), io.MultiReader(bytes.NewReader([]byte("some")), iotest.ErrReader(broken)), new(atomic.Int64))
	if got, err := io.ReadAll(a); string(got) != "some" || !errors.Is(err, broken) {
		t.Errorf("%q, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	endless, w := io.Pipe()
	defer w.Close()
	a = ReadAhead(ctx, endless, new(atomic.Int64))
	cancel()
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
