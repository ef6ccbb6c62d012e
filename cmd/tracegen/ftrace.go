package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"strings"
)

// writeFtrace writes ftrace text as atrace records it on a phone.
func writeFtrace(w *bufio.Writer, size int64, rng *rand.Rand) error {
	o := &output{w: w, left: size}
	p := newPhone(rng)
	p.record = func(c *core, at *tracepoint, fields ...any) {
		t := c.running
		comm, tgid := "<idle>", "-----"
		if t.tid != 0 {
			comm, tgid = t.comm, fmt.Sprintf("%5d", t.tgid)
		}
		text := strings.TrimSuffix(fmt.Sprintf(at.format, fields...), "\n")
		fmt.Fprintf(o, "%16s-%-5d (%s) [%03d] d.%c%d %d.%06d: %s: %s\n",
			comm, t.tid, tgid, c.index, c.context, 1+rng.IntN(3), p.now/1e9, p.now%1e9/1e3, at.name, text)
	}
	fmt.Fprintf(o, "# tracer: nop\n#\n%s", ftraceColumns)
	for o.wantsMore() {
		p.step()
	}
	return o.err
}

const ftraceColumns = `#           TASK-PID     TGID   CPU#  ||||    TIMESTAMP  FUNCTION
#              | |         |      |   ||||       |         |
`
