package primes_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// message is a Protocol Buffers message.
type message []byte

func (m message) number(field protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

func (m message) bytes(field protowire.Number, v []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), v)
}

func at(ms uint64) message { return message{}.number(1, ms/1000).number(2, ms%1000*1e6) }

func details(name string, parent uint64) message {
	m := message{}.bytes(1, []byte(name))
	if parent != 0 {
		m = m.number(2, parent)
	}
	return m
}

func edge(ms, id uint64, kind protowire.Number, body message) message {
	return message{}.number(1, id).bytes(2, at(ms)).bytes(kind, body)
}

// trace returns a trace that starts at 1 s and has these edges.
func trace(edges ...message) []byte {
	m := message(protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), 7)).bytes(2, []byte("app start")).bytes(4, at(1000))
	for _, e := range edges {
		m = m.bytes(7, e)
	}
	return m
}

const (
	begin = 3
	end   = 4
	mark  = 5
)

func on(name string, id uint64, d message) message {
	return message{}.bytes(1, d).bytes(6, []byte(name)).number(8, id)
}

func under(d message) message { return message{}.bytes(1, d) }

var whole = trace(
	edge(0, 1, begin, on("main", 5, details("start", 0))),
	edge(10, 2, begin, under(details("inflate", 1).number(4, 99))),
	edge(20, 3, mark, under(details("drawn", 2).number(3, 1).number(4, 99))),
	edge(30, 2, end, nil),
	edge(35, 4, begin, under(details("io", 1))),
	edge(40, 1, end, nil),
	edge(41, 6, begin, on("pool", 9, details("work", 0).number(3, 4))),
)

func TestEdges(t *testing.T) {
	tables := ingesttest.MustRead(t, "a.primes", whole)
	tables.Want(t, "slice", "ts|dur|name|track_id|depth",
		"1000000000|40000000|start|0|0", "1010000000|20000000|inflate|1|0", "1020000000|0|drawn|2|0",
		"1035000000|-1|io|1|0", "1041000000|-1|work|3|0")
	tables.Want(t, "track", "name|classification", "main|primes_executor_slice", "NULL|primes_executor_slice",
		"NULL|primes_executor_slice", "pool|primes_executor_slice")
	tables.Want(t, "flow", "slice_out|slice_in", "0|2", "1|2", "3|4")
	tables.Want(t, "trace_file", "trace_type", "primes")
	tables.Want(t, "stats", "name|description", "unread_fact|id field is not read", "unread_fact|name field is not read")
}

// TestThreads reads slices of a thread without an executor, CPU times, flows with the numbers of edges, and packed ones.
func TestThreads(t *testing.T) {
	cpu := func(ns uint64) message { return message{}.number(2, ns) }
	onThread := func(id uint64, name string, d message) message { return under(d).number(2, id).bytes(5, []byte(name)) }
	tables := ingesttest.MustRead(t, "a.primes", trace(
		edge(0, 1, begin, onThread(5, "io", details("root", 0)).bytes(3, cpu(100)).bytes(4, cpu(50)).number(7, 2)),
		edge(1, 2, begin, on("pool", 5, details("work", 0).number(4, 1).bytes(5, message{}.bytes(1, []byte("C")))).number(2, 6)),
		edge(2, 3, mark, under(details("under root", 1).bytes(3, []byte{1, 2}).bytes(4, []byte{1}))),
		edge(3, 1, end, message{}.bytes(3, cpu(1100))),
	))
	tables.Want(t, "slice", "ts|dur|name|track_id|thread_ts|thread_dur",
		"1000000000|3000000|root|0|100|1000", "1001000000|-1|work|1|NULL|NULL", "1002000000|0|under root|2|NULL|NULL")
	tables.Want(t, "track", "name|classification", "io|primes_thread_slice", "pool|primes_executor_slice", "NULL|primes_thread_slice")
	tables.Want(t, "flow", "slice_out|slice_in", "0|2", "1|2", "1|2")
	args := tables.Rows("args", "key", "int_value", "string_value")
	for _, want := range []string{"thread_id|5|NULL", "thread_name|NULL|io", "thread_id|6|NULL"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s in %q", want, args)
		}
	}
	tables.Want(t, "stats", "name|description", "unread_fact|id field is not read", "unread_fact|name field is not read",
		"unread_fact|user CPU time is not read", "unread_fact|executor type is not read", "unread_fact|call site is not read")
}

func TestDamagedEdges(t *testing.T) {
	edges := []message{
		edge(1, 1, begin, under(details("no parent", 0))),
		edge(2, 2, begin, under(details("unknown parent", 77))),
		edge(3, 3, end, nil),
		edge(4, 4, mark, nil),
		edge(5, 5, mark, under(details("no parent", 0))),
		edge(6, 6, mark, under(details("unknown parent", 77))),
		edge(7, 7, 12, nil),
	}
	noTime := message{}.number(1, 8)
	tables := ingesttest.MustRead(t, "", trace(append(edges, noTime)...))
	tables.Want(t, "import_log", "name|ts|byte_offset",
		fmt.Sprintf("primes_malformed_timestamp|NULL|%d", len(trace(edges...))),
		"primes_missing_parent_id|1001000000|NULL", "primes_executor_not_found|1002000000|NULL",
		"primes_end_without_matching_begin|1003000000|NULL", "primes_missing_entity_details|1004000000|NULL",
		"primes_missing_parent_id|1005000000|NULL", "primes_executor_not_found|1006000000|NULL",
		"primes_unknown_edge_type|1007000000|NULL", "unread_fact|NULL|0", "unread_fact|NULL|9")
}

func TestNoTrace(t *testing.T) {
	for text, want := range map[string]error{
		"\tindented text of some length\n":                        format.ErrUnknown,
		string(whole[:20]):                                        format.ErrCorrupt,
		string(message(whole[:9]).bytes(7, edge(0, 1, end, nil))): format.ErrCorrupt,
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: strings.NewReader(text)})
		if !errors.Is(err, want) || !format.BadInput(err) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzPrimes(f *testing.F) {
	f.Add(whole)
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || detected.Name != "primes" {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
