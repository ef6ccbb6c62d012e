package task

import "time"

// Day returns the day on which a trace began, in UTC: by the first of the times, in ns since 1970 or nil, that is from 2000 on and
// not after the conversion, or else by that. Clocks may be wrong. A trace clock that has such a time is a wall clock, as it is that of
// spans and logs: others count from when a machine or program was started.
func Day(converted time.Time, times ...*int64) string {
	at := converted
	for _, t := range times {
		if t != nil && *t >= year2000 && *t <= converted.UnixNano() {
			at = time.Unix(0, *t)
			break
		}
	}
	return at.UTC().Format(time.DateOnly)
}

const year2000 = 946684800 * int64(time.Second)
