package functions

import (
	"fmt"
	"math"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

func definePercentiles(d *define.Definer) {
	for _, f := range []percentileFunction{
		{"median", 1, false}, {"percentile", 100, false}, {"percentile_cont", 1, false}, {"percentile_disc", 1, true},
	} {
		args := 2
		if f.name == "median" {
			args = 1
		}
		d.Do(d.DB.Window(f.name, args, 0, func() sqlite.Window { return &percentile{percentileFunction: f, fraction: 0.5} }))
	}
	// percentile(x, p) is _percentile(_percentile_values(x), p), and SQLite collects the values once for several p.
	d.Aggregate("_percentile_values", 1, func() sqlite.Aggregate {
		return &percentileValues{percentile{percentileFunction: percentileFunction{name: "percentile"}}}
	})
	d.Scalar("_percentile", 2, func(c sqlite.Context, args []sqlite.Value) error {
		p := percentile{percentileFunction: percentileFunction{name: "percentile", whole: 100}, sorted: true}
		p.values, _ = args[0].Pointer(valuesPointer).([]float64)
		if err := p.ask(args[1]); err != nil {
			return err
		}
		return p.Current(c)
	})
}

// percentileValues collects the values of a group, in order.
type percentileValues struct{ percentile }

const valuesPointer = "PERCENTILE_VALUES"

// Result implements sqlite.Aggregate.
func (p *percentileValues) Result(c sqlite.Context) error {
	p.sort()
	c.Pointer(p.values, valuesPointer)
	return nil
}

type percentileFunction struct {
	name     string
	whole    float64 // the fraction for all values
	discrete bool    // the result is one of the values
}

// percentile is the value below which a fraction of the values lies, as SQLite's extension of this name has it.
type percentile struct {
	percentileFunction
	fraction float64 // between 0 and 1
	known    bool    // the fraction was given
	values   []float64
	sorted   bool // values are kept in order, because a window asks for each row
}

// ask sets the fraction.
func (p *percentile) ask(v sqlite.Value) error {
	t := v.NumericType()
	fraction := v.Float() / p.whole
	if t != sqlite.Integer && t != sqlite.Real || fraction < 0 || fraction > 1 {
		return fmt.Errorf("%s: the fraction is not between 0.0 and %.1f", p.name, p.whole)
	}
	if p.known && math.Abs(fraction-p.fraction) > 0.001 {
		return fmt.Errorf("%s: the fraction is not the same in all rows", p.name)
	}
	if !p.known {
		p.fraction, p.known = fraction, true
	}
	return nil
}

func (p *percentile) Step(args []sqlite.Value) error {
	if len(args) == 2 {
		if err := p.ask(args[1]); err != nil {
			return err
		}
	}
	y, ok, err := p.value(args[0])
	if !ok || err != nil {
		return err
	}
	if p.sorted {
		i, _ := slices.BinarySearch(p.values, y)
		p.values = slices.Insert(p.values, i, y)
	} else {
		p.values = append(p.values, y)
	}
	return nil
}

// value returns the number of a row, unless it is NULL.
func (p *percentile) value(v sqlite.Value) (y float64, ok bool, err error) {
	switch v.Type() {
	case sqlite.Null:
		return 0, false, nil
	case sqlite.Integer, sqlite.Real:
		if y = v.Float(); !math.IsInf(y, 0) {
			return y, true, nil
		}
	}
	return 0, false, fmt.Errorf("%s: a value is no finite number", p.name)
}

func (p *percentile) Inverse(args []sqlite.Value) error {
	y, ok, err := p.value(args[0])
	if !ok || err != nil {
		return err
	}
	p.sort()
	if i, found := slices.BinarySearch(p.values, y); found {
		p.values = slices.Delete(p.values, i, i+1)
	}
	return nil
}

func (p *percentile) sort() {
	if !p.sorted {
		slices.Sort(p.values)
		p.sorted = true
	}
}

func (p *percentile) Current(c sqlite.Context) error {
	if len(p.values) == 0 {
		return nil
	}
	p.sort()
	place := p.fraction * float64(len(p.values)-1)
	i := int(place)
	v := p.values[i]
	if !p.discrete && place != float64(i) && i+1 < len(p.values) {
		v += (p.values[i+1] - v) * (place - float64(i))
	}
	c.Float(v)
	return nil
}

func (p *percentile) Result(c sqlite.Context) error { return p.Current(c) }
