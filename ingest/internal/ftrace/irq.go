package ftrace

import (
	"github.com/tpconvert/tpconvert/ingest/internal/linux"
	"github.com/tpconvert/tpconvert/ingest/internal/tracks"
	"github.com/tpconvert/tpconvert/model"
)

var hrtimers = spans("cpu_hrtimer", "Hrtimer Cpu %[1]d", "cpu")

func softirqEntry(p *Parser, e *Event) {
	if name := linux.SoftIRQ(e.Int("vec")); name != "" {
		p.Slices.Begin(e.TS, onCPU(tracks.SoftIRQs)(p, e), p.word("irq"), p.word(name), nil)
	}
}

func irqExit(p *Parser, e *Event) {
	p.Slices.End(e.TS, onCPU(tracks.IRQs)(p, e), p.word("irq"), 0, p.list().add("ret", model.StringArg(p.word(linux.IRQResult(e.Int("ret"))))))
}

func workqueueStart(p *Parser, e *Event) {
	name := bySymbol("function")(p, e)
	var args model.ArgSource
	if e.Has("work") { // as Trace Processor, which drops the CPU if ftrace wrote text
		args = p.list().add("cpu", model.IntArg(e.CPU))
	}
	p.Slices.Begin(e.TS, onThread(p, e), p.word("workqueue"), name, args)
}

// i2cMessages counts the messages so far in a transfer on a bus.
type i2cMessages struct {
	adapter, count int64
}

var i2cName = formatted("i2c-%d", "adapter_nr")

func i2cMessage(p *Parser, e *Event) {
	utid, adapter, count := p.thread(e), e.Int("adapter_nr"), e.Int("msg_nr")+1
	open := p.i2c[utid]
	if len(open) == 0 {
		p.Slices.Begin(e.TS, p.Tracks.Thread(utid), 0, i2cName(p, e), nil)
		p.i2c[utid] = []i2cMessages{{adapter, count}}
		return
	}
	last := &open[len(open)-1]
	last.count = max(last.count, count)
}

func i2cResult(p *Parser, e *Event) {
	utid := p.thread(e)
	open := p.i2c[utid]
	if len(open) == 0 || open[len(open)-1] != (i2cMessages{e.Int("adapter_nr"), e.Int("nr_msgs")}) {
		return
	}
	p.i2c[utid] = open[:len(open)-1]
	p.Slices.End(e.TS, p.Tracks.Thread(utid), 0, i2cName(p, e), nil)
}
