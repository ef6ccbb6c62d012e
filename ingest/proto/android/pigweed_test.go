package android

import (
	"bytes"
	"testing"

	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// Lines are limited, whatever the database and the payload are.
func FuzzTokens(f *testing.F) {
	database := []byte("TOKENS\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\xff\xff\xff\xff")
	for _, format := range []string{"%d%%%s%-*.*f", "%9999c%9999d%#010.3llx %hhu", "%a%G%p%+i", "% e%%%"} {
		f.Add(append(bytes.Clone(database), format+"\x00"...), []byte("\x02\x81a\x04\x06\x00\x00\x80\x7f\x01\x01\x01\x01"))
	}
	fuzz.Run(f, func(t *testing.T, database, payload []byte) {
		known := tokens{}
		known.add(database)
		for token, formats := range known {
			l, ok := known.line(token, payload)
			longest := maxLine + maxSize + 100 + len(database)*len("<ERROR>")
			if !ok || len(l.text) > longest || len(l.args)+l.missing > len(l.format)/2 || l.left > len(payload) {
				t.Errorf("%v: %+v", formats, l)
			}
		}
	})
}
