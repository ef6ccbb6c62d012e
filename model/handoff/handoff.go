// Package handoff passes work between goroutines that run on cores of their own.
package handoff

import "runtime"

// patience is how often Receive looks before it sleeps, which takes about as long
// as waking up does.
const patience = 300

// Receive receives from c, as <-c does. Where both sides of a channel are about
// as fast as each other, each would sleep before each value, and waking up takes
// as long as the work does; so Receive looks for some 50 µs whether there is one,
// as long as no other goroutine wants the core.
func Receive[T any](c <-chan T) (v T, ok bool) {
	for range patience {
		select {
		case v, ok = <-c:
			return v, ok
		default:
			runtime.Gosched()
		}
	}
	v, ok = <-c
	return v, ok
}
