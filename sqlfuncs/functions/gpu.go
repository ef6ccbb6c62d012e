package functions

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// gpuTrace has what critical paths of steps on GPUs are made of. Times are in ns.
type gpuTrace struct {
	*sliceTable
	kinds    dataframe.Reader
	utids    map[int64]int64   // by track of slices
	tracks   map[int64][]int64 // of slices, by utid
	calls    []gpuCall         // of CUDA or HIP, in order of ts
	gpuWork  []gpuWork         // in order of ts
	launched []int32           // work that a thread launched, in order of launch
	streams  map[gpuStream][]int32
	waits    []gpuWait // in order of ts
}

type gpuCall struct {
	id, ts, end, utid   int64
	synchronize, copies bool
}

type gpuStream struct{ device, stream int64 } // unknown if NULL

const unknown = math.MinInt64

type gpuWork struct {
	id, ts, end int64
	stream      gpuStream
	launch, at  int64 // the id of the call that launched it, and its ts
	utid        int64 // of the call, unknown if it has none
	before      int32 // the work before it in its stream, -1 for none
}

// gpuWait is a call that made a stream wait for an event of another one.
type gpuWait struct {
	ts, eventTS      int64 // eventTS is that of the call that recorded it
	recorded, source gpuStream
}

var gpuPathColumns = define.Specs("ts, dur, kind text, id, name text, utid, device, stream")

// defineGPU defines __intrinsic_gpu_critical_path, which the module tpconvert.gpu wraps.
func defineGPU(d *define.Definer, load func() (*sliceTable, error), named func(string) *dataframe.Frame) {
	const name = "gpu_critical_path"
	read := define.Once(func() (*gpuTrace, error) {
		s, err := load()
		if err != nil {
			return nil, err
		}
		return readGPU(s, d.Tables, named)
	})
	d.Rows(&dataframe.Function{Name: "__intrinsic_" + name, Columns: gpuPathColumns, Args: []string{"step"},
		Rows: func(args []sqlite.Value) (*dataframe.Frame, error) {
			b := dataframe.NewBuilder(d.Tables.Pool(), gpuPathColumns...)
			t, err := read()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			row, err := t.start(name, args[0])
			if err != nil {
				return nil, err
			}
			if row < 0 {
				return b.Frame(), nil
			}
			if d.DB.Interrupted() {
				return nil, errors.New("interrupted")
			}
			if utid, ok := t.utids[t.track.Int(row)]; ok {
				for _, p := range t.path(row, utid) {
					p.write(b, t)
				}
			}
			return b.Frame(), nil
		}})
}

// readGPU reads the tables that the module tpconvert.gpu makes, and the calls.
func readGPU(s *sliceTable, tables dataframe.Source, named func(string) *dataframe.Frame) (*gpuTrace, error) {
	t := &gpuTrace{sliceTable: s, utids: map[int64]int64{}, tracks: map[int64][]int64{}, streams: map[gpuStream][]int32{}}
	var id, utid, events dataframe.Reader
	f, err := define.Columns(tables, "track", define.Readers{"id": &id, "utid": &utid, "event_type": &events})
	if err != nil {
		return nil, err
	}
	for row := range f.Rows {
		if !utid.IsNull(row) && events.Text(row) == "slice" {
			t.utids[id.Int(row)] = utid.Int(row)
			t.tracks[utid.Int(row)] = append(t.tracks[utid.Int(row)], id.Int(row))
		}
	}
	if err := t.readWork(named); err != nil {
		return nil, err
	}
	t.readCalls()
	return t, t.readWaits(named)
}

// columnsOf reads columns of a table of the module.
func columnsOf(named func(string) *dataframe.Frame, table string, into define.Readers) (int, error) {
	f := named(table)
	if f == nil {
		return 0, errors.New("INCLUDE PERFETTO MODULE tpconvert.gpu first")
	}
	for name, r := range into {
		var err error
		if *r, err = f.Named(name); err != nil {
			return 0, err
		}
	}
	return f.Rows, nil
}

func (t *gpuTrace) readWork(named func(string) *dataframe.Frame) error {
	var id, ts, dur, device, stream, launch dataframe.Reader
	rows, err := columnsOf(named, "gpu_kernel", define.Readers{"id": &id, "ts": &ts, "dur": &dur, "kind": &t.kinds,
		"device": &device, "stream": &stream, "launch_id": &launch})
	if err != nil {
		return err
	}
	last := map[gpuStream]int32{}
	for row := range rows {
		w := gpuWork{id: id.Int(row), ts: ts.Int(row), end: ts.Int(row) + dur.Int(row), launch: unknown, at: unknown, utid: unknown, before: -1,
			stream: gpuStream{orUnknown(device, row), orUnknown(stream, row)}}
		if before, ok := last[w.stream]; ok {
			w.before = before
		}
		last[w.stream] = int32(row)
		if w.launch = orUnknown(launch, row); w.launch != unknown {
			call := t.byID.Find(w.launch)
			w.at = t.ts.Int(call)
			if utid, ok := t.utids[t.track.Int(call)]; ok {
				w.utid = utid
				t.launched = append(t.launched, int32(row))
			}
		}
		t.gpuWork = append(t.gpuWork, w)
	}
	slices.SortStableFunc(t.launched, func(a, b int32) int { return cmp.Compare(t.gpuWork[a].at, t.gpuWork[b].at) })
	for _, i := range t.launched {
		stream := t.gpuWork[i].stream
		t.streams[stream] = append(t.streams[stream], i)
	}
	return nil
}

func orUnknown(r dataframe.Reader, row int) int64 {
	if r.IsNull(row) {
		return unknown
	}
	return r.Int(row)
}

// readCalls finds the calls by their names.
func (t *gpuTrace) readCalls() {
	known := map[uint32]*gpuCall{}
	for row := range t.frame.Rows {
		if t.name.IsNull(row) || t.dur.Int(row) < 0 {
			continue
		}
		like, ok := known[t.name.TextID(row)]
		if !ok {
			if name := t.name.Text(row); isGPUCall(name) {
				like = &gpuCall{synchronize: strings.Contains(name, "Synchronize"), copies: strings.Contains(name, "Memcpy")}
			}
			known[t.name.TextID(row)] = like
		}
		if like == nil {
			continue
		}
		if utid, ok := t.utids[t.track.Int(row)]; ok {
			c := *like
			c.id, c.ts, c.end, c.utid = t.byID.ID.Int(row), t.ts.Int(row), t.end(row), utid
			t.calls = append(t.calls, c)
		}
	}
	slices.SortStableFunc(t.calls, func(a, b gpuCall) int { return cmp.Compare(a.ts, b.ts) })
}

// isGPUCall reports whether a name is that of a function of CUDA or HIP.
func isGPUCall(name string) bool {
	for _, prefix := range []string{"cuda", "cu", "hip"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
			return true
		}
	}
	return false
}

func (t *gpuTrace) readWaits(named func(string) *dataframe.Frame) error {
	var ts, eventTS, device, stream, source dataframe.Reader
	rows, err := columnsOf(named, "_gpu_wait", define.Readers{"waits_ts": &ts, "records_ts": &eventTS, "device": &device, "stream": &stream, "source": &source})
	for row := range rows {
		if device.IsNull(row) || stream.IsNull(row) || source.IsNull(row) {
			continue
		}
		t.waits = append(t.waits, gpuWait{ts.Int(row), eventTS.Int(row),
			gpuStream{device.Int(row), stream.Int(row)}, gpuStream{device.Int(row), source.Int(row)}})
	}
	return err
}

// within returns the part of a list in order of a time whose times are from one to another, both included.
func within[T any](list []T, from, to int64, at func(T) int64) []T {
	first := sort.Search(len(list), func(i int) bool { return at(list[i]) >= from })
	return list[first : first+sort.Search(len(list)-first, func(i int) bool { return at(list[first+i]) > to })]
}
