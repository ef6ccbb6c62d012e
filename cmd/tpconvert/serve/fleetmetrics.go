package serve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// fleetMetrics are metrics of the traces of a dataset, computed one trace after the other while others use the server.
type fleetMetrics struct {
	summarizer *metrics.Summarizer
	ids        []string // nil for all
	stdlib     string

	mu     sync.Mutex
	known  map[string][]metrics.Table // by trace
	failed map[string]error
	idle   chan struct{} // closed when nothing is being computed; nil at first
}

// newFleetMetrics returns the metrics of --metrics and --metric, or nil if neither is given.
func newFleetMetrics(specs, ids []string, stdlib string) (*fleetMetrics, error) {
	if specs == nil && ids == nil {
		return nil, nil
	}
	s, err := inputs.ReadSpecs(specs)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !slices.Contains(s.IDs(), id) {
			return nil, console.Usage(fmt.Errorf("--metric %s: want some of %s", id, strings.Join(s.IDs(), ", ")))
		}
	}
	return &fleetMetrics{summarizer: s, ids: ids, stdlib: stdlib, known: map[string][]metrics.Table{}, failed: map[string]error{}}, nil
}

// of returns what is known of the metrics of traces, and how many of them are to come.
func (f *fleetMetrics) of(traces *session.Traces) (known map[string][]metrics.Table, missing int, failed error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range traces.IDs {
		if f.known[id] == nil && f.failed[id] == nil {
			missing++
		} else if failed == nil && f.failed[id] != nil {
			failed = fmt.Errorf("trace %s: %w", id, f.failed[id])
		}
	}
	return maps.Clone(f.known), missing, failed
}

// start computes what is not known of traces, unless something is being computed, and returns a channel that is closed at its end.
func (f *fleetMetrics) start(ctx context.Context, traces *session.Traces) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.idle != nil {
		select {
		case <-f.idle:
		default:
			return f.idle
		}
	}
	idle := make(chan struct{})
	f.idle = idle
	go func() {
		defer close(idle)
		for _, id := range traces.IDs {
			f.mu.Lock()
			done := f.known[id] != nil || f.failed[id] != nil
			f.mu.Unlock()
			if done {
				continue
			}
			tables, err := f.compute(ctx, traces, id)
			if ctx.Err() != nil {
				return
			}
			f.mu.Lock()
			if err != nil {
				f.failed[id] = err
			} else {
				f.known[id] = tables
			}
			f.mu.Unlock()
		}
	}()
	return idle
}

// wait waits until nothing is being computed.
func (f *fleetMetrics) wait() {
	f.mu.Lock()
	idle := f.idle
	f.mu.Unlock()
	if idle != nil {
		<-idle
	}
}

func (f *fleetMetrics) compute(ctx context.Context, traces *session.Traces, id string) ([]metrics.Table, error) {
	s, err := session.New(ctx, session.Options{Perfetto: true, Modules: inputs.Modules(f.stdlib), Access: session.ReadData})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.OpenTrace(ctx, traces, id); err != nil {
		return nil, err
	}
	summary, err := f.summarizer.Summarize(ctx, s, f.ids, "")
	if err != nil {
		return nil, err
	}
	return summary.Tables(), nil
}
