package console

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// Output is the standard output. It keeps its first error, so that a command whose output is lost fails.
type Output struct {
	to  io.Writer
	mu  sync.Mutex
	err error
}

// NewOutput returns an output that writes to another writer.
func NewOutput(to io.Writer) *Output { return &Output{to: to} }

func (o *Output) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = fmt.Errorf("the standard output: %w", err)
		}
	}
	return n, err
}

// Err returns the first error.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Fd returns the file descriptor, or an invalid one.
func (o *Output) Fd() uintptr {
	if f, ok := o.to.(*os.File); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}
