package stacks

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// dropped says which functions of a pprof file are not of interest, such as those of an allocator. What they call isn't either.
type dropped struct {
	drop, keep *regexp.Regexp // keep may be nil
	known      map[string]bool
}

const droppedFrames = `
SELECT f.name, max(m.str_value) FILTER (WHERE m.name = 'pprof_drop_frames'), max(m.str_value) FILTER (WHERE m.name = 'pprof_keep_frames')
FROM metadata AS m JOIN __intrinsic_trace_file AS f ON f.id = m.trace_id
WHERE m.name IN ('pprof_drop_frames', 'pprof_keep_frames') GROUP BY f.name`

// readDropped returns what files drop, by scope.
func readDropped(ctx context.Context, s *session.Session) (map[string]*dropped, error) {
	all := map[string]*dropped{}
	var failed error
	err := each(ctx, s, droppedFrames, func(v []any) error {
		scope, _ := v[0].(string)
		d := &dropped{known: map[string]bool{}}
		for i, rx := range []**regexp.Regexp{&d.drop, &d.keep} {
			text, _ := v[1+i].(string)
			if text == "" {
				continue
			}
			var err error
			if *rx, err = regexp.Compile("^(" + text + ")$"); err != nil {
				failed = fmt.Errorf("%s: frames to drop: %w", scope, err)
			}
		}
		if d.drop != nil {
			all[scope] = d
		}
		return nil
	})
	if err == nil {
		err = failed
	}
	return all, err
}

// plain matches the name of a function without its parameters.
var plain = regexp.MustCompile(`^\.?((?:\(anonymous namespace\)|operator\(\)|[^(])*)`)

// matches reports whether a function is dropped. As in pprof, parameters are not part of its name.
func (d *dropped) matches(function string) bool {
	is, ok := d.known[function]
	if !ok {
		name := plain.FindStringSubmatch(function)[1]
		is = d.drop.MatchString(name) && (d.keep == nil || !d.keep.MatchString(name))
		d.known[function] = is
	}
	return is
}

// cut returns the functions of a frame, the innermost first, without the outermost that is dropped and those inside of it.
func (d *dropped) cut(functions []string) (kept []string, found bool) {
	for i, name := range slices.Backward(functions) {
		if d.matches(name) {
			return functions[i+1:], true
		}
	}
	return functions, false
}
