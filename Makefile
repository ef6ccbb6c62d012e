GO          ?= go
LINTER       = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT   = github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
SHARED      ?= ../shared
UI          ?= $(SHARED)/ui
PERFETTO    ?= ../perfetto
FUZZTIME    ?= 300x
FUZZCOUNT   ?= 10
SOAKTIME    ?= 10m
TRIMPATH    ?= -trimpath
KILLS       ?= 1000
CLIENTS     ?= 1000
GROWTH      ?= long
GPUFILES    ?= $(GPUTRACES)
GPUTRACES   ?= $(wildcard $(addprefix $(SHARED)/conformance/traces/chrome-json/,*__df_index_resolver.* *__resnet_kineto.* *__worker0.* *__profile_trace_rank_0.*))
MUTATE      ?= 5m
DAMAGED     ?= 500
BENCHSIZES  ?= 1GB 500MB
MEMORYCOUNTS ?= 100000,5000000
TESTFLAGS   ?=
# Tests of SQL results and of files: they are slow under the race detector and share nothing between goroutines.
ONETHREAD    = ^Test(AllowedSQL|Attacks|Cases|Compare|CriticalPaths|Demangle|Derive|Documented|Filters|Flamegraph|MCPAttacks|Metric|Parquet|ProfileTop|Query|Register|Report|Sandbox|Serve(Attacks|Crowd|SessionMemory|SpentSession)|Skew|Summar|WithoutDuckDB)

.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)

KIND         = $(if $(filter 0,$(shell $(GO) env CGO_ENABLED)),pure,full)
BUILD        = GO=$(GO) .ci/dist/build $(shell $(GO) env GOOS GOARCH) $(KIND) bin/tpconvert

# default.pgo makes the command faster and changes nothing else, but compiling with it
# takes long. Without paths in them, packages compiled in one checkout serve all others;
# where there is one checkout, TRIMPATH= makes what lint compiles serve the rest.
test nightly quick check contributor unit coverage race race-all fuzz smoke conformance clients generate faults soak asan growth crowd fleet-unit fleet-quick fleet-test: export GOFLAGS := -pgo=off $(TRIMPATH) $(GOFLAGS)
# Tests need not compile again what they have compiled.
test nightly quick smoke conformance clients faults growth: BUILD = $(GO) build -o bin/tpconvert ./cmd/tpconvert
# Linters follow the paths in what cgo makes, which must be those of this checkout.
lint fleet-lint: export GOFLAGS := -pgo=off $(GOFLAGS)
# Google's library for its store can also speak gRPC, which tpfleet does not: 138 packages and 17 MB less.
fleet-allstores fleet-lint: export GOFLAGS := -tags=allstores,disable_grpc_modules $(GOFLAGS)

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 20

build: ## bin/tpconvert, as it is distributed but with symbols
	$(BUILD)

extension: ## bin/tpconvert.duckdb_extension: traces are tables in any DuckDB of this machine
	GO=$(GO) .ci/dist/build $(shell $(GO) env GOOS GOARCH) extension bin/tpconvert.duckdb_extension

fleet: ## bin/tpfleet, a module of its own, for folders and S3
fleet-allstores: ## the same, also for Google Cloud Storage and Azure
fleet fleet-allstores:
	cd cmd/tpfleet && CGO_ENABLED=0 $(GO) build -pgo=off -o ../../bin/tpfleet .

test: lint unit race smoke conformance ## all checks of a change

nightly: contributor cross conformance coverage race-all asan fuzz clients dist-test extension-test parsers packets fleet-test fleet-airflow fleet-orchestrators faults growth crowd ## what takes too long for each change

quick: lint unit smoke ## the checks of a pull request

contributor: ## the guides of CONTRIBUTING.md, walked in a copy of the last commit
	@if command -v python3 >/dev/null; then .ci/contributor/walk; else echo "THE GUIDES ARE NOT WALKED: there is no python3"; fi

check: ## what differs from BASE: format, vet, tests of changed packages and of those that import them
	GO=$(GO) .ci/check

# Linters allocate much, and collecting it took two fifths of their time. It took a fifth of the many short commands of the fleet's tests,
# and a sixth of the compiler's time for a small package.
lint fleet fleet-allstores fleet-lint fleet-quick: export GOGC := 400
lint fleet fleet-allstores fleet-lint fleet-quick: export GOMEMLIMIT := 6GiB

lint: ## formatting, vet, linters, the layers of the code, workflows, and the build without a C compiler
	$(GO) run $(LINTER) run --allow-serial-runners ./...
	$(GO) run $(ACTIONLINT) .github/workflows/*.yml
	CGO_ENABLED=0 $(GO) build -o bin/tpconvert-nocgo ./cmd/tpconvert

cross: dist-darwin-arm64-pure dist-windows-amd64-pure ## the builds for macOS and Windows, and their sizes
	CGO_ENABLED=0 GOOS=windows $(GO) vet . ./export ./cmd/tpconvert # builds the tests, too

fleet-lint: ## the same linters for cmd/tpfleet
	cd cmd/tpfleet && $(GO) run $(LINTER) run --allow-serial-runners ./... # it waits for that of make lint

fleet-unit: ## tests of cmd/tpfleet that need no server
	cd cmd/tpfleet && $(GO) test -vet=off $(TESTFLAGS) ./...

fleet-test: fleet-lint ## all checks of cmd/tpfleet, also with an S3 gateway and a catalog; these need Java and Maven
	GO=$(GO) .ci/fleet $(TESTFLAGS)

fleet-quick: export FLEET_CONFORMANCE := $(abspath $(SHARED)/conformance)

fleet-quick: ## the checks of cmd/tpfleet for each change: all in a folder but what takes long
	test -z "$$(gofmt -l cmd/tpfleet | tee /dev/stderr)"
	cd cmd/tpfleet && $(GO) vet ./...
	cd cmd/tpfleet && $(GO) test -count 1 -vet=off -short -timeout 20m $(TESTFLAGS) ./...

fleet-airflow: fleet ## the DAGs of docs/fleet/airflow.md, run by Airflow
	.ci/fleet-airflow bin/tpfleet testdata/chromium.json.gz testdata/go_heap.pb.gz testdata/node.json

fleet-orchestrators: fleet ## the scripts of docs/fleet/ray.md and dagster.md, run by Ray and Dagster
	.ci/fleet-orchestrators bin/tpfleet testdata/chromium.json.gz testdata/go_heap.pb.gz testdata/node.json

# Tests compare with independent tools on the recordings there, if there are some.
unit coverage: export CONFORMANCE := $(abspath $(wildcard $(SHARED)/conformance))

generate: ## generated files: docs/tables.md, the lists of field ids and keys of stats, what is known of Perfetto
	$(GO) generate ./...

echarts: ## cmd/tpconvert/page/echarts/echarts.min.js.gz, which reports draw with: needs npm, and takes what package-lock.json names
	cd cmd/tpconvert/page/echarts && npm ci --ignore-scripts && npm run build && gzip -9nf echarts.min.js

site: ## the documentation's site, in bin/site
	.ci/site

changelog: ## the changes that are not released yet; with VERSION=1.2.0 collect them in CHANGELOG.md
	.ci/changelog $(VERSION)

fmt: ## format the code
	gofmt -w .

unit: ## tests, also of the build without a C compiler
	$(GO) build ./... # two commands at once would each compile what they share
	$(MAKE) -j2 unit-all unit-pure

unit-all:
	$(GO) test -vet=off -timeout 20m $(TESTFLAGS) ./...

# The commands that ask by PerfettoSQL alone do the same with and without DuckDB, and SQLite the same in C and in Go.
unit-pure:
	CGO_ENABLED=0 $(GO) test -vet=off -skip '^Test(Compare|MCP|Report|ServeCrowd|ServeExport)' $(TESTFLAGS) ./cmd/tpconvert ./sqlfuncs/dataframe ./sqlfuncs/sqlite
	CGO_ENABLED=0 $(GO) test -vet=off -run '^Test(Dialect|Lookups|Refused|TextLookups)$$' $(TESTFLAGS) ./sqlfuncs/perfettosql

coverage: ## how much of ingest/proto the tests of whole traces run
	@mkdir -p bin
	$(GO) test -vet=off -timeout 20m $(TESTFLAGS) -coverpkg=./ingest/proto/... -coverprofile=bin/coverage ./cmd/tpconvert ./ingest ./ingest/proto/...
	.ci/coverage bin/coverage 85 60

# Packages below the commands whose code shares something between goroutines. The others would be compiled in vain.
SHARING      = $(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{join .Imports " "}} {{end}}' ./export ./internal/... ./model/... ./sort | \
	awk '/ (context|sync|sync\/atomic|[^ ]*\/internal\/pipeline) / {print $$1}'

race: ## tests of concurrent code, with the race detector
	$(GO) test -vet=off -race -short $(TESTFLAGS) $$($(SHARING))

race-all: race ## the same, also of whole conversions and servers
	$(GO) test -vet=off -race -skip '$(ONETHREAD)' $(TESTFLAGS) ./cmd/tpconvert ./ingest/proto/families ./rpc/... ./sqlfuncs/dataframe ./sqlfuncs/extension ./sqlfuncs/operators

# TestInterrupted has deadlines.
asan: ## tests of PerfettoSQL with AddressSanitizer in SQLite and our C, also on DAMAGED damaged datasets
	CGO_ENABLED=1 $(GO) test -vet=off -asan -timeout 60m ./sqlfuncs/sqlite ./sqlfuncs/operators
	CGO_ENABLED=1 $(GO) test -vet=off -asan -timeout 60m -skip '^TestInterrupted$$' ./sqlfuncs/perfettosql -datasets $(DAMAGED)

fuzz: ## each fuzz target for FUZZTIME, and FUZZCOUNT times with random changes of its corpus
	FUZZSEED=$$(date +%s) $(GO) test -vet=off -run '^Fuzz' -timeout 0 -count $(FUZZCOUNT) ./...
	GO=$(GO) .ci/fuzz $(FUZZTIME)

faults: build ## kills, injected errors, full disks, rival processes: nothing partial is visible, every rerun completes
	.ci/faults $(KILLS)
	$(GO) test -run '^TestMutations$$' -timeout 0 ./ingest -mutate $(MUTATE)

soak: ## every fuzz target and damaged traces for SOAKTIME each, and a thousand times with random changes of its corpus
	$(MAKE) fuzz FUZZTIME=$(SOAKTIME) FUZZCOUNT=1000
	$(GO) test -run '^TestMutations$$' -timeout 0 ./ingest -mutate $(SOAKTIME)

crowd: ## serve answers a small query while CLIENTS others misbehave
	$(GO) test -vet=off -run '^TestServeCrowd$$' -v ./cmd/tpconvert -crowd $(CLIENTS)

smoke: build ## the conversion in the README
	.ci/smoke

conformance: build ## scores of traces and diff tests may not fall below .ci/conformance.tsv, difftests.tsv and modules.tsv; the prelude is Trace Processor's
	GO=$(GO) .ci/conformance $(SHARED)/conformance
	GO=$(GO) .ci/difftests $(SHARED)/conformance
	.ci/modules $(SHARED)/conformance
	.ci/prelude $(SHARED)

parsers: build ## shared traces beside what the independent parsers in testdata/check read in their bytes
	@if command -v python3 >/dev/null; then PYTHON=.ci/python .ci/parsers $(SHARED)/conformance; else echo "THE PARSERS ARE NOT RUN: there is no python3"; fi

conformance-update: build ## raise the levels
	GO=$(GO) .ci/conformance $(SHARED)/conformance update
	GO=$(GO) .ci/difftests $(SHARED)/conformance update
	.ci/modules $(SHARED)/conformance update

contents: build ## every table and view of the modules of PERFETTO, a checkout, beside Trace Processor's, cell by cell
	.ci/python .ci/contents "$(SHARED)" "$(PERFETTO)"

packets: build ## random Perfetto traces of each kind of packet and event beside Trace Processor, row by row
	@if .ci/need "random packets" "$(SHARED)/peer"; then .ci/python .ci/packets.py "$(SHARED)"; else [ -z "$$CI" ]; fi

expressions: build ## random expressions beside Trace Processor, cell by cell
	.ci/expressions "$(SHARED)"

ui: build ## answer what Perfetto's UI asked Trace Processor: recordings in UI (.ci/ui/record.mjs), modules in PERFETTO
	.ci/ui/replay "$(UI)" "$(PERFETTO)"

bench-ui: build ## time those queries beside Trace Processor
	.ci/python .ci/bench_ui.py -v bin/tpconvert "$(SHARED)" "$(UI)" "$(PERFETTO)"

metrics: build ## Perfetto's diff tests of metrics of version 1, from PERFETTO, a checkout
	@if command -v python3 >/dev/null; then .ci/python .ci/metrics "$(PERFETTO)"; else echo "THE METRICS ARE NOT TESTED: there is no python3"; fi

clients: build extension ## read datasets and DuckDB files with pinned versions of Python packages
	@if command -v python3 >/dev/null; then \
	.ci/python .ci/readback.py bin/tpconvert testdata/chromium.json.gz testdata/go_heap.pb.gz testdata/java.jfr.gz && .ci/duckdbs bin/tpconvert && \
	.ci/traceprocessors bin/tpconvert && \
	TPCONVERT_BIN=$(CURDIR)/bin/tpconvert TPCONVERT_EXTENSION=$(CURDIR)/bin/tpconvert.duckdb_extension PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 .ci/python -m pytest -q -p no:cacheprovider python/tests && \
	docs/notebooks/execute bin/tpconvert testdata/chromium.json.gz && DUCKDB=1.5.5 docs/notebooks/execute bin/tpconvert testdata/chromium.json.gz; \
	else echo "THE CLIENTS ARE NOT TESTED: there is no python3"; fi

clients-newest: ## the same with the newest version of each client
	rm -rf bin/venv-newest
	NEWEST=1 $(MAKE) clients

bench: build ## Go benchmarks, then the whole command on a generated trace of each kind, JSON against DuckDB
	$(GO) test -run '^$$' -bench . -benchtime 1s ./...
	$(GO) build -o bin/tracegen ./cmd/tracegen
	.ci/python .ci/bench.py bin/tpconvert bin/tracegen $(BENCHSIZES)
	.ci/python .ci/bench_peer.py bin/tpconvert bin/tracegen $(SHARED)
	.ci/python .ci/bench_sql.py bin/tpconvert bin/tracegen $(SHARED)

gpu-hta: build bin/venv-hta ## the views of GPU work beside HolisticTraceAnalysis, and TraceLens if TRACELENS is a checkout: GPUTRACES are PyTorch's traces, folders of those of a job, and what TraceFusion made of them
	PYTHONPATH="$(TRACELENS)" bin/venv-hta/bin/python .ci/gpu_hta.py bin/tpconvert $(GPUTRACES)

gpu-rows: build ## rows of GPUFILES beside what Python reads in them: PyTorch's JSON, Nsight Systems' .sqlite, rocpd's .db, .xplane.pb
	python3 .ci/gpu_rows.py bin/tpconvert $(GPUFILES)

bin/venv-hta:
	python3 -m venv $@
	$@/bin/pip install --quiet HolisticTraceAnalysis==0.5.0 'pandas<3' tqdm || { rm -rf $@; exit 1; }

growth: build ## CPU time of 4 times as many of each thing: at most 4.8 times as much
	$(GO) build -o bin/tracegen ./cmd/tracegen
	.ci/growth $(GROWTH)

bench-memory: build ## peak memory for traces with very many, or very large, names and args
	$(GO) build -o bin/tracegen ./cmd/tracegen
	.ci/python .ci/bench_memory.py bin/tpconvert bin/tracegen $(MEMORYCOUNTS)

pgo: ## record the profile that the compiler optimizes for, cmd/tpconvert/default.pgo, on a trace of each kind
	$(GO) build -o bin/tracegen ./cmd/tracegen
	rm -rf bin/traces && mkdir -p bin/traces
	for kind in json track-event ftrace-proto ftrace fuchsia; do bin/tracegen --format $$kind --size 100MB bin/traces/$$kind || exit 1; done
	TRACES=$(CURDIR)/bin/traces $(GO) test -run '^$$' -bench Convert -benchtime 8x -o bin/profiled.test -cpuprofile bin/convert.prof ./cmd/tpconvert
	$(GO) tool pprof -proto bin/convert.prof >cmd/tpconvert/default.pgo

man: build ## man pages in man/
	bin/tpconvert man man

# Builds for distribution. macOS and Windows have no DuckDB: that needs their own C++ compilers.
LINUX        = linux-amd64-full linux-amd64-pure linux-amd64-extension linux-arm64-full linux-arm64-pure linux-arm64-extension
BUILDS       = $(LINUX) darwin-amd64-pure darwin-arm64-pure windows-amd64-pure windows-arm64-pure
HOST         = linux-$(shell $(GO) env GOHOSTARCH)

dist: $(addprefix dist-,$(BUILDS)) ## bin/release: wheels, archives, deb, rpm, formula, lists of modules, checksums
	GO=$(GO) .ci/dist/package $(BUILDS)

wheel: dist-$(HOST)-full dist-$(HOST)-pure dist-$(HOST)-extension ## the wheel and the other packages of this machine, in bin/release
	GO=$(GO) .ci/dist/package $(HOST)-full $(HOST)-pure $(HOST)-extension

dist-test extension-test: export PGO := off
dist-test: dist-$(HOST)-full dist-$(HOST)-pure ## packages for this machine, installed as a stranger would: a wheel, the static binary, the image, a deb
	GO=$(GO) .ci/dist/package $(HOST)-full $(HOST)-pure
	.ci/dist/test wheel pure image deb

extension-test: wheel ## the wheel with the extension of DuckDB, which takes minutes to compile
	.ci/dist/test extension

wine: ## the Windows build under Wine
	GO=$(GO) .ci/wine

dist-%:
	GO=$(GO) .ci/dist/build $(subst -, ,$*)

clean:
	rm -rf bin man out
