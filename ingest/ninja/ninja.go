// Package ninja reads the build logs of ninja.
package ninja

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/format"
)

// Format is the .ninja_log, versions 4 to 7.
var Format = &format.Format{
	Name: "ninja_log", Priority: 183,
	Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte("# ninja log")) },
	Read:  func(in *format.Input) error { return nil },
}
