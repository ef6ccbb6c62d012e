package args

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/tpconvert/tpconvert/model"
)

// json writes a value that a producer encoded as JSON. If the JSON is malformed, it
// writes what comes before the error.
func (w *Writer) json(text []byte, at *Path) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if t, err := d.Token(); err == nil {
		w.jsonValue(d, t, at, 0)
	}
}

// jsonValue writes the value that begins with a token. It returns false if the rest of
// the text cannot be read.
func (w *Writer) jsonValue(d *json.Decoder, t json.Token, at *Path, depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch v := t.(type) {
	case json.Delim:
		if v == '[' {
			return w.jsonArray(d, at, depth+1)
		}
		return w.jsonObject(d, at, depth+1)
	case string:
		w.Add(at, w.Text(v))
	case bool:
		w.Add(at, model.BoolArg(v))
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			w.Add(at, model.IntArg(n))
		} else if f, err := v.Float64(); err == nil {
			w.Add(at, model.RealArg(f))
		}
	}
	return true
}

func (w *Writer) jsonObject(d *json.Decoder, at *Path, depth int) bool {
	for {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return err == nil
		}
		if t, err = d.Token(); err != nil || !w.jsonValue(d, t, w.Named(at, name), depth) {
			return false
		}
	}
}

func (w *Writer) jsonArray(d *json.Decoder, at *Path, depth int) bool {
	_, key := w.ids(at)
	for {
		t, err := d.Token()
		if err != nil || t == json.Delim(']') {
			return err == nil
		}
		if t == nil {
			continue // null takes no index
		}
		if !w.jsonValue(d, t, at.item(w.set.NextIndex(key)), depth) {
			return false
		}
	}
}
