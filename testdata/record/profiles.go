package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log"
	"os"
	"runtime"
	"runtime/pprof"
	"sort"
	"sync"
	"time"
)

type node struct {
	Key         string
	Left, Right *node
}

func tree(depth int) *node {
	if depth == 0 {
		return nil
	}
	return &node{Key: string(rune('a' + depth)), Left: tree(depth - 1), Right: tree(depth - 1)}
}

func hash(n int) (sum [32]byte) {
	buf := make([]byte, 1<<16)
	for range n {
		sum = sha256.Sum256(buf)
		copy(buf, sum[:])
	}
	return sum
}

func shuffle(n int) {
	v := make([]int, n)
	for i := range v {
		v[i] = i * 7919 % n
	}
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
}

func save(name string) {
	f, err := os.Create("go_" + name + ".pb.gz")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	if err := pprof.Lookup(name).WriteTo(f, 0); err != nil {
		log.Fatal(err)
	}
}

func main() {
	runtime.MemProfileRate = 4096
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	f, err := os.Create("go_cpu.pb.gz")
	if err != nil {
		log.Fatal(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		log.Fatal(err)
	}
	var keep []*node
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, job := range []string{"hash", "sort", "tree", "json"} {
		wg.Go(func() {
			pprof.Do(context.Background(), pprof.Labels("job", job), func(context.Context) {
				for end := time.Now().Add(time.Second); time.Now().Before(end); {
					switch job {
					case "hash":
						hash(200)
					case "sort":
						shuffle(100_000)
					case "tree":
						t := tree(12)
						mu.Lock()
						if keep = append(keep, t); len(keep) > 20 {
							keep = keep[1:]
						}
						time.Sleep(time.Millisecond)
						mu.Unlock()
					case "json":
						mu.Lock()
						n := len(keep)
						mu.Unlock()
						for i := range min(n, 2) {
							if _, err := json.Marshal(keep[i]); err != nil {
								log.Fatal(err)
							}
						}
					}
				}
			})
		})
	}
	wg.Wait()
	pprof.StopCPUProfile()
	f.Close()
	runtime.GC()
	for _, name := range []string{"heap", "block", "mutex", "goroutine"} {
		save(name)
	}
	runtime.KeepAlive(keep)
}
