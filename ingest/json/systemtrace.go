package json

import (
	"errors"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/model"
)

// systemTrace passes the string at the position, which is the text of another
// trace, to the systrace format.
func (t *tokenizer) systemTrace() error {
	text := &systemText{t: t}
	err := t.in.Embedded("systrace", text)
	if errors.Is(err, format.ErrUnsupported) {
		t.in.File.Count(model.StatUnsupportedEmbeddedFormat)
		err = nil
	}
	if err == nil {
		_, err = io.Copy(io.Discard, text)
	}
	return err
}

// systemText reads a string of the input up to its closing quote, and resolves
// its escapes.
type systemText struct {
	t    *tokenizer
	text []byte
	done bool
}

func (s *systemText) Read(p []byte) (int, error) {
	t := s.t
	for len(s.text) == 0 {
		if s.done {
			return 0, io.EOF
		}
		end := t.Pos
		for end < len(t.Buf) && t.Buf[end] != '"' {
			if t.Buf[end] == '\\' {
				// An escape takes up to 12 bytes, for a surrogate pair.
				if end+12 > len(t.Buf) && !t.EOF {
					break
				}
				end++
			}
			end++
		}
		end = min(end, len(t.Buf))
		s.done = end < len(t.Buf) && t.Buf[end] == '"'
		if raw := t.Buf[t.Pos:end]; len(raw) > 0 {
			if raw[len(raw)-1] == '\\' {
				raw = raw[:len(raw)-1]
			}
			s.text, _ = jsonlex.Unescape(s.text[:0], raw)
			t.Pos = end
		}
		if s.done {
			t.Pos++
			continue
		}
		if len(s.text) == 0 {
			if err := t.More(); err != nil {
				return 0, err
			}
		}
	}
	n := copy(p, s.text)
	s.text = s.text[n:]
	return n, nil
}
