package otlp

import (
	"bufio"
	"io"
	"math"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spans"
	"github.com/tpconvert/tpconvert/ingest/otlp/profiles"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// maxProfiles is the size in bytes of the largest message of profiles, which is kept as a whole: its tables may come last.
const maxProfiles = 512 << 20

// profileMessages reads messages of profiles.
type profileMessages struct {
	*cursor
	profiles *profiles.Reader
}

func readProfiles(in *format.Input, r *bufio.Reader, f framing) error {
	c := &cursor{Reader: r, in: in, spans: spans.New(in)}
	p := &profileMessages{c, profiles.New(in, c.spans)}
	err := p.all(f)
	switch err {
	case io.ErrUnexpectedEOF:
		in.File.LogAt(model.StatTruncatedInput, c.offset, nil)
	case errMalformed:
		c.spans.Damaged(c.offset)
		_, err := io.Copy(io.Discard, r)
		if err != nil {
			return err
		}
	case nil:
	default:
		return err
	}
	p.profiles.Finish()
	if !p.profiles.Found() && !anyLoss(in) {
		return errNoSamples()
	}
	return nil
}

// anyLoss reports whether something was counted as damaged.
func anyLoss(in *format.Input) bool {
	return in.File.Stat(profiles.StatErrors, model.None) > 0 || in.File.Stat(model.StatTruncatedInput, model.None) > 0
}

func (p *profileMessages) all(f framing) error {
	if f == alone || f == wrapped {
		b, err := p.next(math.MaxInt64)
		if err != nil {
			return err
		}
		return p.each(b)
	}
	for {
		size, err := p.size(f)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case size > math.MaxInt32:
			return errMalformed
		}
		at := p.offset
		b, err := p.next(int64(size))
		if err != nil {
			return err
		}
		if err := p.profiles.Read(b, at); err != nil {
			return err
		}
		if int64(len(b)) < int64(size) {
			return io.ErrUnexpectedEOF
		}
	}
}

// next reads a message of so many bytes, or up to the end.
func (p *profileMessages) next(size int64) ([]byte, error) {
	if size > maxProfiles && size < math.MaxInt64 {
		return nil, tooLarge(p.offset)
	}
	b, err := io.ReadAll(io.LimitReader(p, min(size, maxProfiles+1)))
	p.offset += int64(len(b))
	if err == nil && len(b) > maxProfiles {
		err = tooLarge(p.offset)
	}
	return b, err
}

func tooLarge(offset int64) error {
	return format.Errorf(format.ErrUnsupported, offset, "OpenTelemetry profiles in one message of more than %d MiB", maxProfiles>>20)
}

// each reads the messages of a file that has nothing between them. Each has a dictionary at its end, or there is only one.
func (p *profileMessages) each(b []byte) error {
	start, dictionaries := 0, 0
	for i := 0; i < len(b); {
		tag, _, next := wire.Scan(b, i)
		if next < 0 {
			break
		}
		if tag>>3 == dataDictionary {
			dictionaries++
		}
		i = next
	}
	for i := 0; i < len(b); {
		tag, _, next := wire.Scan(b, i)
		if next < 0 {
			p.in.File.LogAt(model.StatTruncatedInput, int64(i), nil)
			break
		}
		i = next
		if tag>>3 == dataDictionary && dictionaries > 1 {
			if err := p.profiles.Read(b[start:i], int64(start)); err != nil {
				return err
			}
			start = i
		}
	}
	if start == len(b) {
		return nil
	}
	return p.profiles.Read(b[start:], int64(start))
}

// dataDictionary is the field of ProfilesData with the tables.
const dataDictionary = 2
