package many

import (
	"fmt"

	"github.com/tpconvert/tpconvert/cmd/tracegen/template"
)

// Binary formats other than Perfetto's.
var binaries = []Format{
	message("pprof-frames", pprofHead+`[4:{1:i+1 3:i}] 2:{1:<[i+1]> 2:<1>}`),
	message("pprof-lines", pprofHead+`[5:{1:i+1 2:1}] 4:{1:1 [4:{1:i+1 2:i}]} 2:{1:<1> 2:<1>}`),
	message("pprof-labels", pprofHead+`4:{1:1 3:5} 2:{1:<1> 2:<1> [3:{1:1 2:2}]}`),
	message("pprof-shared-labels", pprofHead+`[1:{1:1}] 2:{[3:{1:1 2:2}] 2:<[0]>}`), // of all values of a sample
	messages("pprof-mappings", pprofHead, `3:{1:i+1 2:(i+1)*4096 3:(i+1)*4096+4096 5:1} 4:{1:i+1 2:i+1 3:(i+1)*4096} 2:{1:<i+1> 2:<1>}`),
	messages("primes-nested", primesHead, `7:{1:i+1 2:{2:i} 3:{1:{1:"n" 2:i} 6:"main" 8:5}}`),
	messages("primes-flows", primesHead, `7:{1:i+1 2:{2:i} 3:{1:{1:"n" 3:1} 6:"main" 8:i+1}}`),
	simpleperf("simpleperf-samples", `[4{m{1:{1:i 2:i+1 3:{1:16 2:i}}}} 4{m{4:{1:i+1 2:7 3:"t"}}} 4{m{3:{1:i 2:"/bin/a$i"}}}]`),
	simpleperf("simpleperf-frames", `4{m{1:{1:1 2:8 [3:{1:i 2:1 3:i}]}}} 4{m{3:{1:1 2:"/bin/a" [3:"f$i"]}}}`),
	fuchsia("fuchsia-open", `8:0x24|2<<16|1<<24|1<<32|2<<48 8:i`),
	fuchsia("fuchsia-async", `8:0x34|5<<16|1<<24|1<<32|2<<48 8:i 8:i`),
	fuchsia("fuchsia-flows", `8:0x34|4<<16|1<<24|1<<32|2<<48 8:10*i 8:10*i+5 8:0x34|8<<16|1<<24|1<<32|2<<48 8:10*i+1 8:i`),
	fuchsia("fuchsia-overlapping", `8:0x34|4<<16|1<<24|1<<32|2<<48 8:i 8:i+n`),
	fuchsia("fuchsia-counters", `8:0x44|1<<16|1<<20|1<<24|1<<32|2<<48 8:i 8:0x11|2<<16|1<<32 8:i`),
	fuchsia("fuchsia-objects", `8:0x27|2<<16|2<<24 8:1000+i`),
	fuchsia("fuchsia-threads", `8:0x44|2<<16|1<<32|2<<48 8:i 8:5 8:1000+i`),
	hprof("hprof-objects", class("0x101", "0", "1")+`[1:0x21 4:0x10000+i 4:0 4:0x101 4:4 4:0x10001+i] 1:1 4:0x10000 4:0`),
	hprof("hprof-backwards", class("0x101", "0", "1")+`[1:0x21 4:0x10000+n-i 4:0 4:0x101 4:4 4:0xffff+n-i] 1:1 4:0x10000+n 4:0`),
	hprof("hprof-classes", "["+class("0x10000+2*i", "0xfffe+2*i", "0")+`1:0x21 4:0x10001+2*i 4:0 4:0x10000+2*i 4:0] 1:1 4:0x10001 4:0`),
	hprof("hprof-fields", "["+class("0x10000+2*i", "0xfffe+2*i", "1")+`] [1:0x21 4:0x10001+2*i 4:0 4:0xfffe+2*n 4:0] 1:1 4:0x10001 4:0`),
	hprof("hprof-array", class("0x101", "0", "0")+`1:0x22 4:0x10000 4:0 4:n 4:0x101 [4:0x10001+i] [1:0x21 4:0x10001+i 4:0 4:0x101 4:0] 1:1 4:0x10000 4:0`),
	hprof("hprof-roots", class("0x101", "0", "0")+`[1:0x21 4:0x10001+i 4:0 4:0x101 4:0 1:1 4:0x10001+i 4:0 1:1 4:0x10001 4:0]`),
}

const (
	pprofHead  = `6:{} 6:"samples" 6:"count" 1:{1:1 2:2} `
	primesHead = `1=7 4:{1:1}`
)

func simpleperf(name, records string) Format {
	return whole(name, "SIMPLEPERF\x01\x00", template.Little(records), "\x00\x00\x00\x00")
}

// fuchsia is records for each thing, after a provider with the strings cat and work and a thread.
func fuchsia(name, records string) Format {
	head := template.Little(`8:0x0016547846040010 8:0x21 8:1000000000 8:0x22|1<<16|3<<32 8:0x746163 8:0x22|2<<16|4<<32 8:0x6b726f77 8:0x33|1<<16 8:5 8:6`)
	return Format{Name: name, head: once(head), each: template.Little(records)}
}

// hprof is a dump with ids of 4 bytes, and records of objects and roots.
func hprof(name, records string) Format {
	return whole(name, "JAVA PROFILE 1.0.3\x00", template.Big(`4:4 8:12345 `+
		`1:1 4:0 4{4:1 "com/app/A"} 1:1 4:0 4{4:2 "next"} 1:2 4:0 4{4:0 4:0x101 4:0 4:1} 1:0x1c 4:0 4{`+records+`} 1:0x2c 4:0 4:0`))
}

// class is a class with up to one field, which is a reference.
func class(id, super, fields string) string {
	return fmt.Sprintf(`1:0x20 4:%s 4:0 4:%s 4:0 4:0 4:0 4:0 4:0 4:16 2:0 2:0 2:%s (0<%[3]s)[4:2 1:2] `, id, super, fields)
}
