package gperftools

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// place is a function that a comment names.
type place struct {
	function, file string
	line           int64
}

// name gives the locations of a profile the functions in the comments of its text, which Go writes for ?debug=1:
//
//	#	0x4da1b9	main.contend.func1+0x19		main.go:10
//
// Lines with one address are functions inlined into each other, innermost first.
func name(p *profile.Profile, text []byte) {
	places := map[uint64][]place{} // of addresses with comments
	named := false
	var last uint64
	for line := range bytes.Lines(text) {
		address, at, ok := comment(string(line))
		known, commented := places[address]
		switch {
		case !ok:
			address = 0
		case at.function == "" && !commented:
			places[address] = nil
		case at.function != "" && (address == last || len(known) == 0) && !slices.Contains(known, at):
			places[address], named = append(known, at), true
		}
		last = address
	}
	if !named {
		return
	}
	setPlaces(p, func(address uint64) []place { return places[address] })
	// Go has no comments for functions of its runtime at the ends: those that allocate, and runtime.goexit.
	hidden := func(l *profile.Location) bool {
		_, commented := places[l.Address]
		return !commented
	}
	for _, s := range p.Sample {
		first := slices.IndexFunc(s.Location, func(l *profile.Location) bool { return !hidden(l) })
		if first < 0 {
			continue
		}
		s.Location = s.Location[first:]
		for hidden(s.Location[len(s.Location)-1]) {
			s.Location = s.Location[:len(s.Location)-1]
		}
	}
}

// setPlaces gives the locations of a profile their functions, innermost first.
func setPlaces(p *profile.Profile, placesAt func(address uint64) []place) {
	functions := map[place]*profile.Function{}
	for _, l := range p.Location {
		for _, at := range placesAt(l.Address) {
			key := place{function: at.function, file: at.file}
			f := functions[key]
			if f == nil {
				f = &profile.Function{ID: uint64(len(p.Function)) + 1, Name: at.function, SystemName: at.function, Filename: at.file}
				functions[key], p.Function = f, append(p.Function, f)
			}
			l.Line = append(l.Line, profile.Line{Function: f, Line: at.line})
		}
	}
}

const symbolsMark = "--- symbol\n"

// symbols reads what pprof --raw writes before a profile, the functions by address, and returns where the profile itself begins:
//
//	--- symbol
//	binary=/bin/app
//	0x0000000000401234 main<0000000000001200>--inlined
//	---
//	--- profile
func symbols(data []byte) (names map[uint64][]place, start int) {
	if !bytes.HasPrefix(data, []byte(symbolsMark)) {
		return nil, 0
	}
	names = map[uint64][]place{}
	start = len(symbolsMark)
	for line := range bytes.Lines(data[start:]) {
		start += len(line)
		if bytes.HasPrefix(line, []byte("---")) {
			break
		}
		hex, functions, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		address, err := strconv.ParseUint(hex, 0, 64)
		if err != nil || strings.HasPrefix(functions, "0x") { // pprof repeats an address without a name
			continue
		}
		for _, function := range slices.Backward(strings.Split(functions, "--")) {
			names[address] = append(names[address], place{function: functionStart.ReplaceAllString(function, "")})
		}
	}
	for _, mark := range []string{"--- profile\n", "--- heap\n", "--- growth\n"} { // those of other profiles belong to them
		if bytes.HasPrefix(data[start:], []byte(mark)) {
			start += len(mark)
		}
	}
	return names, start
}

// functionStart is the address where a function starts.
var functionStart = regexp.MustCompile("<[0-9a-f]{8,}>$")

// comment reads a comment. A function that Go does not know has no name.
func comment(line string) (address uint64, at place, ok bool) {
	words := strings.FieldsFunc(line, func(c rune) bool { return c == '\t' || c == '\n' || c == '\r' })
	if len(words) != 2 && len(words) != 4 || words[0] != "#" {
		return 0, at, false
	}
	address, err := strconv.ParseUint(words[1], 0, 64)
	if len(words) == 2 {
		return address, at, err == nil
	}
	function := strings.LastIndex(words[2], "+0x")
	colon := strings.LastIndexByte(words[3], ':')
	if err != nil || function < 0 || colon < 0 {
		return 0, at, false
	}
	number, err := strconv.ParseInt(words[3][colon+1:], 10, 64)
	return address, place{words[2][:function], words[3][:colon], number}, err == nil
}
