//go:build cgo

package main

import (
	"sync"
	"testing"
)

// Several threads of two queries get each row once, from memory as from the temporary file.
func TestThreads(t *testing.T) {
	for _, memory := range []int64{defaultMemory, 1} {
		sums := make([]int64, 2)
		var running sync.WaitGroup
		for i := range sums {
			c := &call{function: functions(nil)[0], options: options{memory: memory}, patterns: []string{"../../testdata/chromium.json.gz"}, wanted: "slice"}
			if err := c.prepare(); err != nil {
				t.Fatal(err)
			}
			s, err := c.start([]string{"dur", "name", ""})
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			for range 4 {
				running.Go(func() {
					for {
						b, err := s.next()
						if err != nil {
							t.Error(err)
						}
						if b == nil {
							return
						}
						mu.Lock()
						for _, dur := range b.columns[0].Values.([]int64) {
							sums[i] += dur
						}
						mu.Unlock()
					}
				})
			}
		}
		running.Wait()
		const want = 15336626985 // as DuckDB adds up the dataset's file
		if sums[0] != want || sums[1] != want {
			t.Errorf("memory %d: the sums of dur are %d, want %d", memory, sums, want)
		}
	}
}
