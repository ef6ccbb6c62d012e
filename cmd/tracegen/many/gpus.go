package many

import (
	"fmt"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/internal/tracecase"
)

// Profiles of GPUs. Those of Nsight Systems and rocprofv3 are databases of SQLite.
var gpus = []Format{
	xplane("xplane-events", "", `[4:{1:1 2:i*1000000 3:1000000}]`),
	xplane("xplane-open", "", `[4:{1:1 2:i*1000000 3:2*(n-i)*1000000}]`),
	xplane("xplane-overlapping", "", `[4:{1:1 2:i*1000000 3:n*1000000}]`),
	xplane("xplane-names", `[4:{1:i 2:{2:"kernel$i"}}]`, `[4:{1:i 2:i*1000000 3:1000000}]`),
	message("xplane-lines", `1:{2:"/device:GPU:0" [3:{1:i 2:"line$i" 3:1000 4:{1:1 2:i*1000000 3:1000000}}]}`),
	message("xplane-planes", `[1:{1:i 2:"/device:GPU:$i" 3:{1:i 2:"line$i" 3:1000 4:{1:1 2:i*1000000 3:1000000}}}]`),
	xplane("xplane-stats", `[5:{1:i 2:{2:"stat$i"}}]`, `[4:{1:i 2:i*1000000 3:1000000 4:{1:i 5:"v$i"}}]`),
	xplane("xplane-stats-of-event", "", `4:{1:1 2:1000000 3:1000000 [4:{1:i 3:5}]}`),
	xplane("xplane-shared-stats", `[5:{1:i 2:{2:"stat$i"}}] 4:{1:1 2:{2:"kernel" [5:{1:i 3:5}]}}`, `[4:{1:1 2:i*1000000 3:1000000}]`), // which all events have
	xplane("xplane-metadata", `[4:{1:7 2:{2:"kernel$i"}}]`, `[4:{1:7 2:i*1000000 3:1000000}]`),
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

// xplane is a plane with metadata, and a line with events, whose times are in µs.
func xplane(name, metadata, events string) Format {
	return message(name, `1:{2:"/device:GPU:0" `+metadata+` 3:{2:"line" 3:1000 `+events+`}}`)
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
	return Format{Name: name, whole: func(n int) []byte {
		numbers := fmt.Sprintf("CREATE TEMP TABLE num AS SELECT %d AS N;\nCREATE TEMP VIEW n AS WITH RECURSIVE r(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM r WHERE i < %d) SELECT i, N FROM r, num;\n", n, n)
		_, data, err := tracecase.Trace(&txtar.File{Name: "x.sql", Data: []byte(numbers + statements)})
		if err != nil {
			panic(err)
		}
		return data
	}}
}
