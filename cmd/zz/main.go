package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/schema"
)

func main() {
	if p := os.Getenv("PROF"); p != "" {
		f, _ := os.Create(p)
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	name := os.Args[1]
	f, err := os.Open(name)
	if err != nil {
		panic(err)
	}
	w, err := export.Create(os.Args[2], export.Options{Schemas: schema.All(), Force: true})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	s := model.NewStore(model.Options{Sink: w})
	start := time.Now()
	err = ingest.Read(s, name, f, ingest.Options{Memory: 2 << 30})
	t1 := time.Since(start)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if err := s.Finish(); err != nil {
		panic(err)
	}
	if err := w.Commit(export.Manifest{}); err != nil {
		panic(err)
	}
	r := s.Rows()
	if os.Getenv("V") != "" {
		fmt.Println(name, err, t1, time.Since(start), "slices", r["slice"], "args", r["args"])
	}
}
