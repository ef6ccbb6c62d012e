package gperftools

import (
	"bytes"
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
	places := map[uint64][]place{}
	var last uint64
	for line := range bytes.Lines(text) {
		address, at, ok := comment(string(line))
		if ok && (address == last || places[address] == nil) && !slices.Contains(places[address], at) {
			places[address] = append(places[address], at)
		}
		if last = 0; ok {
			last = address
		}
	}
	if len(places) == 0 {
		return
	}
	functions := map[place]*profile.Function{}
	for _, l := range p.Location {
		for _, at := range places[l.Address] {
			key := place{function: at.function, file: at.file}
			f := functions[key]
			if f == nil {
				f = &profile.Function{ID: uint64(len(p.Function)) + 1, Name: at.function, SystemName: at.function, Filename: at.file}
				functions[key], p.Function = f, append(p.Function, f)
			}
			l.Line = append(l.Line, profile.Line{Function: f, Line: at.line})
		}
	}
	// Go leaves out the functions of its runtime that allocate, as pprof does.
	for _, s := range p.Sample {
		if named := slices.IndexFunc(s.Location, func(l *profile.Location) bool { return len(l.Line) > 0 }); named > 0 {
			s.Location = s.Location[named:]
		}
	}
}

// comment reads a comment.
func comment(line string) (address uint64, at place, ok bool) {
	words := strings.FieldsFunc(line, func(c rune) bool { return c == '\t' || c == '\n' || c == '\r' })
	if len(words) != 4 || words[0] != "#" {
		return 0, at, false
	}
	address, err := strconv.ParseUint(words[1], 0, 64)
	function := strings.LastIndex(words[2], "+0x")
	colon := strings.LastIndexByte(words[3], ':')
	if err != nil || function < 0 || colon < 0 {
		return 0, at, false
	}
	number, err := strconv.ParseInt(words[3][colon+1:], 10, 64)
	return address, place{words[2][:function], words[3][:colon], number}, err == nil
}
