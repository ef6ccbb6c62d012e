// Package profiles has the functions about call stacks: callsites, texts of stacks, pprof profiles, flame graphs, and the order of what
// profiles measure.
package profiles

import "github.com/tpconvert/tpconvert/sqlfuncs/functions/define"

// Define defines the functions.
func Define(d *define.Definer) {
	callsites := define.Once(func() (*callsiteTable, error) { return readCallsites(d.Tables) })
	lines := define.Once(func() (*lineTable, error) { return readLines(d.Tables) })
	defineStacks(d)
	defineCallsites(d, callsites)
	defineProfile(d, callsites, lines)
	defineFlamegraph(d, callsites, lines)
	defineMeasures(d)
}
