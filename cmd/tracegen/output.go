package main

import (
	"bufio"

	"github.com/tpconvert/tpconvert/cmd/tracegen/pb"
)

// output takes a trace until it reaches its size or cannot be written.
type output struct {
	w    *bufio.Writer
	left int64
	err  error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	o.left -= int64(n)
	if err != nil {
		o.err = err
	}
	return n, err
}

func (o *output) wantsMore() bool { return o.left > 0 && o.err == nil }

// packet writes a packet of a Perfetto trace.
func (o *output) packet(m pb.Message) { o.Write(pb.Message{}.Bytes(1, m)) }
