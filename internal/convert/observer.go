package convert

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// observer is a sink that passes chunks on, and collects what the manifest of their trace says.
type observer struct {
	mu sync.Mutex // chunks of args come from another goroutine
	export.Manifest
	ctx  context.Context
	to   table.Sink    // nil drops the rows
	rows *atomic.Int64 // of all tables
	host []string      // names of machines in metadata

	wall     *int64 // wall clock at 0 of the trace clock, ns since 1970
	realtime bool   // the trace clock is a wall clock
	began    *int64 // the first profile of sums, ns since 1970
}

// Chunk implements table.Sink. Once the context is done, it returns the context's error.
func (o *observer) Chunk(c *table.Chunk) error {
	if err := o.ctx.Err(); err != nil {
		return err
	}
	o.rows.Add(int64(c.Rows))
	o.see(c)
	if o.to == nil {
		err := c.Err()
		c.Release()
		return err
	}
	return o.to.Chunk(c)
}

// see collects what a chunk says.
func (o *observer) see(c *table.Chunk) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count(c)
	switch c.Schema.Name {
	case "trace_file":
		o.traceFiles(c)
	case "stats":
		o.traceStats(c)
	case "trace_bounds":
		o.Start, o.End = new(values[int64](c, "start_ts")[0]), new(values[int64](c, "end_ts")[0])
	case "clock_snapshot":
		o.clocks(c)
	case "machine":
		o.machines(c)
	case "metadata":
		o.metadata(c)
	}
}

func (o *observer) count(c *table.Chunk) {
	i := slices.IndexFunc(o.Tables, func(t export.Table) bool { return t.Name == c.Schema.Name })
	if i < 0 {
		i = len(o.Tables)
		o.Tables = append(o.Tables, export.Table{Name: c.Schema.Name})
	}
	o.Tables[i].Rows += int64(c.Rows)
	if c.Schema.Bounds != "" {
		o.Events += int64(c.Rows)
	}
}

// year2000 is its beginning in ns since 1970. A wall clock that is earlier is none: log files name no year, for example.
const year2000 = 946684800 * int64(time.Second)

// manifest returns the manifest once all chunks were seen.
func (o *observer) manifest() *export.Manifest {
	switch {
	case o.Start == nil: // of a profile, sums alone
		o.StartUnix = o.began
	case o.wall != nil:
		o.StartUnix = new(*o.wall + *o.Start)
	case o.realtime && *o.Start >= year2000:
		o.StartUnix = o.Start
	}
	if o.Machine.Name == "" && len(o.host) == 1 {
		o.Machine.Name = o.host[0]
	}
	m := o.Manifest // the sinks are not kept with it
	return &m
}

func (o *observer) traceFiles(c *table.Chunk) {
	parents, sizes := values[int64](c, "parent_id"), values[int64](c, "size")
	names, formats := values[table.StringID](c, "name"), values[table.StringID](c, "trace_type")
	files := make([]export.Input, c.Rows)
	// A file comes after the file that contains it.
	for i := c.Rows - 1; i >= 0; i-- {
		files[i].Name = c.Strings.Get(names[i])
		files[i].Bytes = sizes[i]
		files[i].Format = c.Strings.Get(formats[i])
		slices.Reverse(files[i].Members)
		if i > 0 && parents != nil {
			parent := &files[parents[i]]
			parent.Members = append(parent.Members, files[i])
		}
	}
	o.Input = files[0]
}

func (o *observer) traceStats(c *table.Chunk) {
	names, severities := values[table.StringID](c, "name"), values[table.StringID](c, "severity")
	sources, effects := values[table.StringID](c, "source"), values[table.StringID](c, "effect")
	keys, counts := values[int64](c, "key"), values[int64](c, "value")
	for i, value := range counts {
		if value == 0 {
			continue
		}
		s := export.Stat{
			Name:     c.Strings.Get(names[i]),
			Severity: c.Strings.Get(severities[i]),
			Effect:   c.Strings.Get(effects[i]),
			Source:   c.Strings.Get(sources[i]),
			Value:    value,
			Gap:      !model.Stat(keys[i]).CountsEvents(),
		}
		s.Description = textAt(c, "description", i)
		s.Idx = numberAt(c, "idx", i)
		o.Stats = append(o.Stats, s)
	}
}

// clocks computes the wall clock from its first reading.
func (o *observer) clocks(c *table.Chunk) {
	for i := 0; i < c.Rows && o.wall == nil; i++ {
		if textAt(c, "clock_name", i) == "REALTIME" {
			o.wall = new(values[int64](c, "clock_value")[i] - values[int64](c, "ts")[i])
		}
	}
}

// metadata finds the place of the traced process in its job, the names of machines, and what is known of the wall clock.
func (o *observer) metadata(c *table.Chunk) {
	for row := range c.Rows {
		switch textAt(c, "name", row) {
		case "trace_time_clock_id":
			clock := numberAt(c, "int_value", row)
			o.realtime = clock != nil && *clock == model.ClockRealtime
		case "pprof_time_nanos":
			if began := numberAt(c, "int_value", row); began != nil && *began >= year2000 && (o.began == nil || *began < *o.began) {
				o.began = began
			}
		case model.Rank:
			o.Rank = numberAt(c, "int_value", row)
		case model.WorldSize:
			o.WorldSize = numberAt(c, "int_value", row)
		case model.HostName:
			if name := textAt(c, "str_value", row); !slices.Contains(o.host, name) {
				o.host = append(o.host, name)
			}
		}
	}
}

// machines collects what is known of the machine that recorded the trace.
func (o *observer) machines(c *table.Chunk) {
	row := slices.Index(values[int64](c, "raw_id"), 0)
	if row < 0 {
		return
	}
	text := func(column string) string { return textAt(c, column, row) }
	number := func(column string) *int64 { return numberAt(c, column, row) }
	o.Machine = export.Machine{
		Name: text("name"), Sysname: text("sysname"), Release: text("release"), Arch: text("arch"),
		NumCPUs: number("num_cpus"), RAMBytes: number("system_ram_bytes"),
		AndroidBuildFingerprint:   text("android_build_fingerprint"),
		AndroidDeviceManufacturer: text("android_device_manufacturer"),
		AndroidSDKVersion:         number("android_sdk_version"),
	}
}

// textAt returns the text in a row of a column, or "" for NULL.
func textAt(c *table.Chunk, column string, row int) string {
	if texts := values[table.StringID](c, column); texts != nil {
		return c.Strings.Get(texts[row])
	}
	return ""
}

// numberAt returns the number in a row of a column, or nil for NULL.
func numberAt(c *table.Chunk, column string, row int) *int64 {
	v := c.Column(c.Schema.Column(column))
	if numbers, _ := v.Values.([]int64); numbers != nil && v.Valid[row>>3]&(1<<(row&7)) != 0 {
		return new(numbers[row])
	}
	return nil
}

// values returns the values of a column, or nil if it has none.
func values[T any](c *table.Chunk, column string) []T {
	v, _ := c.Column(c.Schema.Column(column)).Values.([]T)
	return v
}
