package main

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
	"time"
)

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "300000": 300000, "64k": 64 << 10, "64K": 64 << 10, "2MiB": 2 << 20, "2 MiB": 2 << 20,
		"1.5GB": 1_500_000_000, "1G": 1 << 30, "7B": 7,
	} {
		var s byteSize
		if err := s.Set(text); err != nil || int64(s) != want {
			t.Errorf("%s: %d, %v, want %d", text, s, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "K", "1X", "nan", "inf", "1e300G"} {
		if err := new(byteSize).Set(text); err == nil {
			t.Errorf("%q is taken for a size", text)
		}
	}
}

func TestFormat(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1 << 20: "1 MiB", 1<<30 - 1: "1 GiB"} {
		if got := formatBytes(n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
}

func TestProgressFits(t *testing.T) {
	p := progress{read: 999 << 30, total: 9999 << 30, rows: 12_345_678_901, done: 123, of: 1234, elapsed: time.Hour}
	if line := p.String(); len(line) > 79 {
		t.Errorf("%d columns: %s", len(line), line)
	}
}

func TestReadAhead(t *testing.T) {
	content := make([]byte, 3*blockBytes+12345)
	rng := rand.NewChaCha8([32]byte{})
	rng.Read(content)
	for name, source := range map[string]io.Reader{
		"whole": bytes.NewReader(content),
		"half":  iotest.HalfReader(bytes.NewReader(content)),
		"eof":   iotest.DataErrReader(bytes.NewReader(content)),
	} {
		var taken atomic.Int64
		a := newReadAhead(t.Context(), source, &taken)
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
		size, sum, err := a.sum()
		if want := sha256.Sum256(content); err != nil || size != int64(len(content)) || sum != hex.EncodeToString(want[:]) {
			t.Errorf("%s: size %d, sum %s, %v", name, size, sum, err)
		}
	}
}

func TestReadAheadErrors(t *testing.T) {
	broken := errors.New("broken")
	a := newReadAhead(t.Context(), io.MultiReader(bytes.NewReader([]byte("some")), iotest.ErrReader(broken)), new(atomic.Int64))
	if got, err := io.ReadAll(a); string(got) != "some" || !errors.Is(err, broken) {
		t.Errorf("%q, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	endless, w := io.Pipe()
	defer w.Close()
	a = newReadAhead(ctx, endless, new(atomic.Int64))
	cancel()
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
