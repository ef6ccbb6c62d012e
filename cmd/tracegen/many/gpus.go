package many

import (
	"fmt"
	"strconv"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/cmd/tracegen/pb"
	"github.com/tpconvert/tpconvert/internal/tracecase"
)

// Profiles of GPUs. Those of Nsight Systems and rocprofv3 are databases of SQLite.
var gpus = []Format{
	xplaneOf("xplane-events", func(p *xplane) { p.event(1, p.i, 1) }),
	xplaneOf("xplane-open", func(p *xplane) { p.event(1, p.i, 2*(p.n-p.i)) }),
	xplaneOf("xplane-overlapping", func(p *xplane) { p.event(1, p.i, p.n) }),
	xplaneOf("xplane-names", func(p *xplane) {
		p.event(p.i, p.i, 1)
		p.plane = p.plane.Bytes(4, pb.Message{}.Number(1, uint64(p.i)).Bytes(2, pb.Message{}.Bytes(2, p.name("kernel"))))
	}),
	xplaneOf("xplane-lines", func(p *xplane) {
		p.event(1, p.i, 1)
		p.endLine()
	}),
	xplaneOf("xplane-planes", func(p *xplane) {
		p.event(1, p.i, 1)
		p.endPlane()
	}),
	xplaneOf("xplane-stats", func(p *xplane) {
		p.event(1, p.i, 1, pb.Message{}.Bytes(4, pb.Message{}.Number(1, uint64(p.i)).Bytes(5, p.name("v")))...)
		p.plane = p.plane.Bytes(5, pb.Message{}.Number(1, uint64(p.i)).Bytes(2, pb.Message{}.Bytes(2, p.name("stat"))))
	}),
	xplaneOf("xplane-stats-of-event", func(p *xplane) {
		p.stats = p.stats.Bytes(4, pb.Message{}.Number(1, uint64(p.i)).Number(3, 5))
		if p.i == p.n-1 {
			p.event(1, 1, 1, p.stats...)
		}
	}),
	xplaneOf("xplane-shared-stats", func(p *xplane) { // of one metadata, which all events have
		p.event(1, p.i, 1)
		p.stats = p.stats.Bytes(5, pb.Message{}.Number(1, uint64(p.i)).Number(3, 5))
		p.plane = p.plane.Bytes(5, pb.Message{}.Number(1, uint64(p.i)).Bytes(2, pb.Message{}.Bytes(2, p.name("stat"))))
		if p.i == p.n-1 {
			p.plane = p.plane.Bytes(4, pb.Message{}.Number(1, 1).Bytes(2, append(pb.Message{}.Bytes(2, p.name("kernel")), p.stats...)))
		}
	}),
	xplaneOf("xplane-metadata", func(p *xplane) {
		p.event(7, p.i, 1)
		p.plane = p.plane.Bytes(4, pb.Message{}.Number(1, 7).Bytes(2, pb.Message{}.Bytes(2, p.name("kernel"))))
	}),
	nsysOf("nsys-kernels", `INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 10 * i, 10 * i + 5, 0, 1, 7, i, 100 << 24, i FROM n;
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 10 * i, 10 * i + 1, 100 << 24 | 101, i, i FROM n;
INSERT INTO StringIds SELECT i, 'n' || i FROM n;`),
	nsysOf("nsys-overlapping", "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, N + i, 0, 1, 7, i, 100 << 24, 1 FROM n;"),
	nsysOf("nsys-streams", "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i + 5, i % 8, i % 4, i, i, 100 << 24, 1 FROM n;"),
	nsysOf("nsys-same-correlation", `INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 10 * i, 10 * i + 5, 0, 1, 7, 1, 100 << 24, 1 FROM n;
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 10 * i, 10 * i + 1, 100 << 24 | 101, 1, 1 FROM n;`),
	nsysOf("nsys-threads", "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 10 * i, 10 * i + 1, 100 << 24 | i, i, 1 FROM n;"),
	nsysOf("nsys-ranges", "INSERT INTO NVTX_EVENTS SELECT i, 2 * N - i, 59, 'r' || i, 100 << 24 | 101 FROM n;"),
	nsysOf("nsys-overlapping-ranges", "INSERT INTO NVTX_EVENTS SELECT i, N + i, 60, 'r', 100 << 24 | 101 FROM n;"),
	nsysOf("nsys-samples", `INSERT INTO COMPOSITE_EVENTS SELECT i, 10 * i, 3, 100 << 24 | 101 FROM n;
INSERT INTO SAMPLING_CALLCHAINS SELECT i, i, 1, i, 0 FROM n;`),
	nsysOf("nsys-frames", `INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, 3, 100 << 24 | 101);
INSERT INTO SAMPLING_CALLCHAINS SELECT 1, 1, 1, i, i FROM n;`),
	rocpdOf("rocpd-kernels", `INSERT INTO rocpd_kernel_dispatch_a SELECT i, 77, 200, 9, 6, 3, i, 1, 1, 10 * i, 10 * i + 5, 4, i FROM n;
INSERT INTO rocpd_event_a SELECT i, 1, i, i, 0 FROM n;
INSERT INTO rocpd_region_a SELECT i, 77, 200, 9, 10 * i, 10 * i + 1, 4, i FROM n;`),
	rocpdOf("rocpd-nested", "INSERT INTO rocpd_region_a SELECT i, 77, 200, 9, i, 2 * N - i, 4, NULL FROM n;"),
	rocpdOf("rocpd-overlapping", "INSERT INTO rocpd_kernel_dispatch_a SELECT i, 77, 200, 9, 6, 3, i, 1, 1, i, N + i, 4, NULL FROM n;"),
	rocpdOf("rocpd-names", `INSERT INTO rocpd_string_a SELECT 100 + i, 'n' || i FROM n;
INSERT INTO rocpd_region_a SELECT i, 77, 200, 9, 10 * i, 10 * i + 1, 100 + i, NULL FROM n;`),
	rocpdOf("rocpd-args", `INSERT INTO rocpd_event_a VALUES (1, 1, 1, 1, 0);
INSERT INTO rocpd_region_a VALUES (1, 77, 200, 9, 10, 20, 4, 1);
INSERT INTO rocpd_arg_a SELECT i, 1, i, 'int', 'k' || i, '5' FROM n;`),
	rocpdOf("rocpd-counters", `INSERT INTO rocpd_info_pmc_a SELECT i, 6, 'c' || i, '' FROM n;
INSERT INTO rocpd_event_a VALUES (1, 1, 1, 1, 0);
INSERT INTO rocpd_kernel_dispatch_a VALUES (1, 77, 200, 9, 6, 3, 1, 1, 1, 10, 20, 4, 1);
INSERT INTO rocpd_pmc_event_a SELECT i, 1, i, 5.0 FROM n;`),
	rocpdOf("rocpd-same-stack", `INSERT INTO rocpd_event_a SELECT i, 1, 5, 5, 0 FROM n;
INSERT INTO rocpd_region_a SELECT i, 77, 200, 9, 10 * i, 10 * i + 1, 4, i FROM n;
INSERT INTO rocpd_kernel_dispatch_a SELECT i, 77, 200, 9, 6, 3, i, 1, 1, 10 * i, 10 * i + 5, 4, i FROM n;`),
}

// xplane builds the planes of a space for the i-th of n things.
type xplane struct {
	space, plane, line, stats pb.Message
	i, n                      int
}

func (p *xplane) name(prefix string) []byte { return strconv.AppendInt([]byte(prefix), int64(p.i), 10) }

// event appends an event with times in µs.
func (p *xplane) event(metadata, start, dur int, fields ...byte) {
	e := pb.Message{}.Number(1, uint64(metadata)).Number(2, uint64(start)*1e6).Number(3, uint64(dur)*1e6)
	p.line = p.line.Bytes(4, append(e, fields...))
}

func (p *xplane) endLine() {
	p.plane = p.plane.Bytes(3, append(pb.Message{}.Number(1, uint64(p.i)).Bytes(2, p.name("line")).Number(3, 1000), p.line...))
	p.line = nil
}

func (p *xplane) endPlane() {
	if len(p.line) > 0 {
		p.endLine()
	}
	p.space = p.space.Bytes(1, append(pb.Message{}.Number(1, uint64(p.i)).Bytes(2, p.name("/device:GPU:")), p.plane...))
	p.plane = nil
}

func xplaneOf(name string, each func(p *xplane)) Format {
	return Format{Name: name, whole: func(_ []byte, n int) []byte {
		p := xplane{n: n}
		for p.i = range n {
			each(&p)
		}
		p.endPlane()
		return p.space
	}}
}

const nsysTables = `CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, shortName INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER);
CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, cpu INTEGER, globalTid INTEGER);
CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, originalIP INTEGER, stackDepth INTEGER NOT NULL,
  PRIMARY KEY (id, stackDepth));
`

func nsysOf(name, rows string) Format { return databaseOf(name, nsysTables+rows) }

const rocpdTables = `CREATE TABLE rocpd_metadata_a (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
INSERT INTO rocpd_metadata_a VALUES (1, 'schema_version', '3');
CREATE TABLE rocpd_string_a (id INTEGER PRIMARY KEY, string TEXT);
INSERT INTO rocpd_string_a VALUES (1, 'API'), (4, 'step');
CREATE TABLE rocpd_info_agent_a (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, type TEXT, absolute_index INTEGER, name TEXT);
INSERT INTO rocpd_info_agent_a VALUES (6, 77, 200, 'GPU', 6, 'gfx942');
CREATE TABLE rocpd_info_pmc_a (id INTEGER PRIMARY KEY, agent_id INTEGER, name TEXT, units TEXT);
CREATE TABLE rocpd_event_a (id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER);
CREATE TABLE rocpd_arg_a (id INTEGER PRIMARY KEY, event_id INTEGER, position INTEGER, type TEXT, name TEXT, value TEXT);
CREATE TABLE rocpd_pmc_event_a (id INTEGER PRIMARY KEY, event_id INTEGER, pmc_id INTEGER, value REAL);
CREATE TABLE rocpd_region_a (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, tid INTEGER, start BIGINT, end BIGINT, name_id INTEGER, event_id INTEGER);
CREATE TABLE rocpd_kernel_dispatch_a (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER,
  queue_id INTEGER, stream_id INTEGER, start BIGINT, end BIGINT, region_name_id INTEGER, event_id INTEGER);
`

func rocpdOf(name, rows string) Format { return databaseOf(name, rocpdTables+rows) }

// databaseOf is what SQLite makes of statements in which N is the number of things, and the table n has the numbers from 1 to N.
func databaseOf(name, statements string) Format {
	return Format{Name: name, whole: func(_ []byte, n int) []byte {
		numbers := fmt.Sprintf("CREATE TEMP TABLE num AS SELECT %d AS N;\nCREATE TEMP VIEW n AS WITH RECURSIVE r(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM r WHERE i < %d) SELECT i, N FROM r, num;\n", n, n)
		_, data, err := tracecase.Trace(&txtar.File{Name: "x.sql", Data: []byte(numbers + statements)})
		if err != nil {
			panic(err)
		}
		return data
	}}
}
