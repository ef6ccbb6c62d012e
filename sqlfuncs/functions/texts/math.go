package texts

import (
	"math"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

func defineMath(d *define.Definer) {
	// What is no number gives NULL, and NaN is NULL.
	define := func(name string, f func(float64) float64) {
		d.Twins(name, 1, func(c sqlite.Context, args []sqlite.Value) error {
			if t := args[0].NumericType(); t == sqlite.Integer || t == sqlite.Real {
				c.Float(f(args[0].Float()))
			}
			return nil
		})
	}
	define("exp", math.Exp)
	define("sqrt", math.Sqrt)
	define("ln", func(x float64) float64 {
		if x <= 0 {
			return math.NaN()
		}
		return math.Log(x)
	})
}
