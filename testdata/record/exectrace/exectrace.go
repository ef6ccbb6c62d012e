package main

import (
	"context"
	"crypto/sha256"
	"log"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"sync"
	"time"
)

var keep []byte

//go:noinline
func hash(until time.Time) (sum [32]byte) {
	buf := make([]byte, 1<<12)
	for time.Now().Before(until) {
		sum = sha256.Sum256(buf)
		copy(buf, sum[:])
	}
	return sum
}

func worker(ctx context.Context, jobs <-chan string, done *sync.WaitGroup) {
	defer done.Done()
	for name := range jobs {
		ctx, task := trace.NewTask(ctx, "job")
		trace.Log(ctx, "name", name)
		trace.WithRegion(ctx, "compute", func() {
			hash(time.Now().Add(15 * time.Millisecond))
			trace.WithRegion(ctx, "load", func() {
				if _, err := os.ReadFile("exectrace.go"); err != nil {
					log.Fatal(err)
				}
			})
		})
		task.End()
	}
}

func main() {
	out, err := os.Create("go.trace")
	if err != nil {
		log.Fatal(err)
	}
	cpu, err := os.Create(os.DevNull)
	if err != nil {
		log.Fatal(err)
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		log.Fatal(err)
	}
	if err := trace.Start(out); err != nil {
		log.Fatal(err)
	}
	ctx, task := trace.NewTask(context.Background(), "build")
	jobs := make(chan string)
	var done sync.WaitGroup
	for range 2 {
		done.Add(1)
		go worker(ctx, jobs, &done)
	}
	for _, name := range []string{"a.go", "b.go", "c.go"} {
		jobs <- name
	}
	close(jobs)
	done.Wait()
	keep = make([]byte, 1<<20)
	runtime.GC()
	time.Sleep(time.Millisecond)
	task.End()
	trace.Stop()
	pprof.StopCPUProfile()
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
}
