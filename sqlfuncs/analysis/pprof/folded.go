package pprof

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// WriteFolded writes the stacks of a profile with one metric, one per line: main;run;read 312.
func WriteFolded(w io.Writer, p *profile.Profile) error {
	if err := p.RemoveUninteresting(); err != nil { // as Top does
		return err
	}
	NameUnknown(p)
	sums := map[string]int64{}
	for _, s := range p.Sample {
		var stack []string
		for _, l := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(l.Line) {
				stack = append(stack, foldedName.Replace(line.Function.Name))
			}
		}
		if len(stack) == 0 {
			stack = []string{unknownFunction}
		}
		sums[strings.Join(stack, ";")] += s.Value[0]
	}
	out := bufio.NewWriter(w)
	for _, stack := range slices.Sorted(maps.Keys(sums)) {
		if n := sums[stack]; n < 0 {
			return fmt.Errorf("folded stacks cannot hold %s: %s has %d, which is negative; want NAME.pb.gz", Metrics(p), stack, n)
		} else if n > 0 {
			fmt.Fprintf(out, "%s %s\n", stack, foldedValue(n, p.SampleType[0].Unit))
		}
	}
	return out.Flush()
}

// foldedValue returns a value as a number: folded stacks may have decimals.
func foldedValue(n int64, unit string) string {
	text := fmt.Sprint(n)
	if !strings.HasSuffix(unit, thousandths) {
		return text
	}
	text = fmt.Sprintf("%d.%03d", n/1000, n%1000)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// fileLabel returns the name of code of which only the file is known, as in SQL: [libc.so.6], [kernel.kallsyms].
func fileLabel(file string) string {
	if end := strings.IndexByte(file, ']'); strings.HasPrefix(file, "[") && end > 1 {
		return file[:end+1]
	}
	if name := file[strings.LastIndexByte(file, '/')+1:]; name != "" {
		return "[" + name + "]"
	}
	return unknownFunction
}

// NameUnknown names code with only an address after its file, as perf does.
func NameUnknown(p *profile.Profile) {
	named := map[string]*profile.Function{}
	for _, l := range p.Location {
		if len(l.Line) > 0 {
			continue
		}
		name := unknownFunction
		if l.Mapping != nil {
			name = fileLabel(l.Mapping.File)
		}
		f := named[name]
		if f == nil {
			f = &profile.Function{ID: uint64(len(p.Function)) + 1, Name: name}
			named[name] = f
			p.Function = append(p.Function, f)
		}
		l.Line = []profile.Line{{Function: f}}
	}
}

// foldedName replaces characters that would end a name in folded stacks.
var foldedName = strings.NewReplacer(";", ":", "\n", " ", "\r", " ")

// unknownFunction stands for code without a name.
const unknownFunction = "[unknown]"
