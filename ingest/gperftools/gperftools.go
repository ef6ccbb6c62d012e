// Package gperftools reads the profiles of gperftools, and others in its formats: CPU, heap, growth, contention and threads. It also
// reads jemalloc's heap profiles.
// The library of pprof, which defines them now, turns them into profile.proto.
package gperftools

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/model"
)

// Format is the format of gperftools' profiles.
var Format = &format.Format{Name: "gperftools", Sniff: sniff, Read: read}

// starts are how profiles begin: the functions of pprof --raw, the text of heaps, locks, goroutines and threads, and the words 0, 3, 0
// of CPU profiles, or 0, 3, 1 if they are Java's, of 8 or 4 bytes and with the lowest or the highest byte first.
var starts = []string{symbolsMark, jemallocMark, "heap profile: ", "heapz v", "--- heapz ", "--- contention", "--- contentionz", "--- mutex:",
	"--- threadz", "growthz", "goroutine profile: total ", "threadcreate profile: total ",
	"\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
	"\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00",
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00",
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x01",
	"\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x03\x00\x00\x00\x01\x00\x00\x00",
	"\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x01"}

func sniff(head []byte) bool {
	for _, start := range starts {
		if bytes.HasPrefix(head, []byte(start)) {
			return true
		}
	}
	return false
}

// whole returns a profile without a line or a sample that is cut off, which it counts. The rest would pass for a whole profile,
// because texts have no end of their own. The profile begins at an offset of the data.
func whole(in *format.Input, data []byte, start int) []byte {
	if len(data) == start || data[start] != 0 {
		return lines.Whole(in, data)[start:]
	}
	data = data[start:]
	word, size := words(data)
	// Each sample has its number, the number of its addresses, and these. The end is a sample with the address 0.
	n := uint64(len(data)) / size
	for at := uint64(headerWords); ; {
		if at == n && at*size == uint64(len(data)) && start > 0 {
			return data // pprof --raw writes no end
		}
		if at+2 > n || word(at+1) > n-at-2 {
			in.File.LogAt(model.StatTruncatedInput, int64(start+len(data)), nil)
			return data[:min(uint64(len(data)), at*size)]
		}
		count, addresses := word(at), word(at+1)
		ends := count == 0 && addresses == 1 && word(at+2) == 0
		if at += 2 + addresses; ends {
			text := at * size
			return append(data[:text:text], lines.Whole(in, data[text:])...)
		}
	}
}

// headerWords is the size of the header of a CPU profile.
const headerWords = 5

// words returns how to read a word of a CPU profile, and the size of one in bytes. The first word is 0, the second 3.
func words(data []byte) (word func(i uint64) uint64, size uint64) {
	size = 8
	if data[4] != 0 || data[7] != 0 {
		size = 4
	}
	var order binary.ByteOrder = binary.BigEndian
	if data[size] != 0 {
		order = binary.LittleEndian
	}
	return func(i uint64) uint64 {
		if size == 4 {
			return uint64(order.Uint32(data[i*size:]))
		}
		return order.Uint64(data[i*size:])
	}, size
}

// unknownPeriod is the period that pprof --raw writes, in ns, whatever it was: only the number of samples is known.
const unknownPeriod = 1000

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
	names, start := symbols(data)
	if !sniff(data[start:]) {
		return format.Errorf(format.ErrCorrupt, int64(start), "no profile after its symbols")
	}
	data = contention(jemalloc(in, whole(in, data, start)))
	p, err := profile.ParseData(data)
	if err != nil {
		return format.Errorf(format.ErrCorrupt, -1, "%v", err)
	}
	facts(in, p, data)
	name(p, data)
	if start > 0 && p.Period == unknownPeriod {
		p.SampleType, p.Period = p.SampleType[:1], 0
		for _, s := range p.Sample {
			s.Value = s.Value[:1]
		}
	}
	setPlaces(p, func(address uint64) []place {
		if at, ok := names[address]; ok {
			return at
		}
		return names[address+1] // a caller, where pprof wrote the calls themselves
	})
	p.RemoveUninteresting() // the allocator's own functions
	var b bytes.Buffer
	if err := p.Compact().WriteUncompressed(&b); err != nil {
		return format.Errorf(format.ErrCorrupt, -1, "%v", err)
	}
	return in.Embedded("pprof", &b)
}
