GO          ?= go
STATICCHECK  = honnef.co/go/tools/cmd/staticcheck@v0.8.2
SHARED      ?= ../shared
FUZZTIME    ?= 5s
TESTFLAGS   ?=

.PHONY: build test lint fmt unit race fuzz smoke conformance conformance-update readback bench man clean

build: ## bin/tpconvert
	$(GO) build -o bin/tpconvert ./cmd/tpconvert

test: lint unit race fuzz smoke conformance ## everything that must hold

lint: ## formatting, vet, staticcheck, and that all builds without a C compiler
	@test -z "$$(gofmt -l .)" || { echo "not formatted (make fmt):"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	CGO_ENABLED=0 $(GO) build -o bin/tpconvert-nocgo ./cmd/tpconvert

fmt: ## format the code
	gofmt -w .

unit: ## tests
	$(GO) test $(TESTFLAGS) ./...

race: ## tests of what is concurrent, with the race detector
	$(GO) test -race $(TESTFLAGS) ./cmd/tpconvert ./export

fuzz: ## each fuzz target for FUZZTIME
	GO=$(GO) .ci/fuzz $(FUZZTIME)

smoke: build ## the main job, as the README has it
	.ci/smoke

conformance: build ## no trace may score less than in .ci/conformance.tsv
	GO=$(GO) .ci/conformance $(SHARED)/conformance

conformance-update: build ## raise the scores in .ci/conformance.tsv
	GO=$(GO) .ci/conformance $(SHARED)/conformance update

readback: build ## read a dataset with DuckDB, pandas, pyarrow and Polars
	.ci/readback

bench: build ## benchmarks, and the whole command on 1 GB of JSON beside DuckDB
	$(GO) test -run '^$$' -bench . -benchtime 1s ./...
	GO=$(GO) .ci/bench

man: build ## man pages in man/
	bin/tpconvert man man

clean:
	rm -rf bin man out
