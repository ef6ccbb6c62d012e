// A program with a task, a region, a log and a goroutine, for a trace of Go 1.21.
package main

import (
	"context"
	"os"
	"runtime/trace"
)

func main() {
	f, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	if err := trace.Start(f); err != nil {
		panic(err)
	}
	ctx, task := trace.NewTask(context.Background(), "request")
	done := make(chan bool)
	go func() {
		trace.WithRegion(ctx, "work", func() { trace.Log(ctx, "step", "first") })
		done <- true
	}()
	<-done
	task.End()
	trace.Stop()
	f.Close()
}
