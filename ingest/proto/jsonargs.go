package proto

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/tpconvert/tpconvert/model"
)

// json writes a value that a producer put into JSON. Of broken JSON it writes
// what comes before the fault.
func (w *argWriter) json(text []byte, at *argPath) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if t, err := d.Token(); err == nil {
		w.jsonValue(d, t, at, 0)
	}
}

// jsonValue writes a value that begins with a token. It returns false if that is
// as far as the text can be read.
func (w *argWriter) jsonValue(d *json.Decoder, t json.Token, at *argPath, depth int) bool {
	if depth > maxArgDepth {
		return false
	}
	switch v := t.(type) {
	case json.Delim:
		if v == '[' {
			return w.jsonArray(d, at, depth+1)
		}
		return w.jsonObject(d, at, depth+1)
	case string:
		w.add(at, w.text(v))
	case bool:
		w.add(at, model.BoolArg(v))
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			w.add(at, model.IntArg(n))
		} else if f, err := v.Float64(); err == nil {
			w.add(at, model.RealArg(f))
		}
	}
	return true
}

func (w *argWriter) jsonObject(d *json.Decoder, at *argPath, depth int) bool {
	for {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return err == nil
		}
		if t, err = d.Token(); err != nil || !w.jsonValue(d, t, w.named(at, name), depth) {
			return false
		}
	}
}

func (w *argWriter) jsonArray(d *json.Decoder, at *argPath, depth int) bool {
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
