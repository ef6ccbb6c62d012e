// Package texts has the functions about texts and numbers.
package texts

import "github.com/tpconvert/tpconvert/sqlfuncs/functions/define"

// Define defines the functions.
func Define(d *define.Definer) {
	defineText(d)
	defineMatch(d)
	defineRegexp(d)
	defineMath(d)
}
