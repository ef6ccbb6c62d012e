// Package profiling reads what profilers record: samples of call stacks and of the
// native heap, memory maps, and the symbols for them.
package profiling

import "github.com/tpconvert/tpconvert/ingest/proto"

// Modules read the packets of profilers.
var Modules = proto.Family{perfSamples, chromeSamples, stackSamples, heapProfiles, memoryMaps, moduleSymbols, obfuscation}
