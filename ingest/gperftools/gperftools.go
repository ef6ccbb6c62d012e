// Package gperftools reads the profiles of gperftools, and others in its formats: CPU, heap, growth, contention and threads.
// The library of pprof, which defines them now, turns them into profile.proto.
package gperftools

import (
	"bytes"
	"io"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/ingest/format"
)

// Format is the format of gperftools' profiles.
var Format = &format.Format{Name: "gperftools", Sniff: sniff, Read: read}

// starts are how profiles begin: the text of heaps and locks, and the words 0, 3, 0 of CPU profiles, of 8 or 4 bytes and with
// the lowest or the highest byte first.
var starts = []string{"heap profile: ", "heapz v", "--- contention", "--- contentionz", "--- threadz", "growthz",
	"\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00",
	"\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00",
	"\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00"}

func sniff(head []byte) bool {
	for _, start := range starts {
		if bytes.HasPrefix(head, []byte(start)) {
			return true
		}
	}
	return false
}

// maxBytes is the size of the largest profile, which is read as a whole.
const maxBytes = 256 << 20

func read(in *format.Input) error {
	data, err := io.ReadAll(io.LimitReader(in, maxBytes+1))
	switch {
	case err != nil:
		return err
	case len(data) > maxBytes:
		return format.Errorf(format.ErrUnsupported, maxBytes, "a profile of more than 256 MiB")
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return format.Errorf(format.ErrCorrupt, -1, "%v", err)
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		return format.Errorf(format.ErrCorrupt, -1, "%v", err)
	}
	return in.Embedded("pprof", &b)
}
