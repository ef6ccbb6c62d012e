package functions

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// CurvesFolder is the folder among the modules that has Wattson's curves, as DEVICE/KIND.csv. Trace Processor has them built in.
const CurvesFolder = "wattson/curves/data"

// curveColumns are the columns of Wattson's curves by kind.
var curveColumns = map[string][]dataframe.Spec{
	"cpu_1d": define.Specs("device text, policy, freq_khz, static real, active real, idle0 real, idle1 real"),
	"cpu_2d": define.Specs(`device text, policy, freq_khz, dep_policy, dep_freq, static real, active real, idle0 real, idle1 real,
		interconnect real`),
	"gpu": define.Specs("device text, freq_khz, active real, idle1 real, idle2 real"),
	"l3":  define.Specs("device text, freq_khz, dep_policy, dep_freq, l3_hit real, l3_miss real"),
	"tpu": define.Specs("device text, cluster, requests, freq, active real"),
}

func defineCurves(d *define.Definer, modules fs.FS) {
	for kind, shape := range curveColumns {
		name := "__intrinsic_wattson_curves_" + kind
		load := define.Once(func() (*dataframe.Frame, error) { return readCurves(d.Tables.Pool(), modules, kind, shape) })
		d.Rows(&dataframe.Function{Name: name, Columns: shape, Rows: func([]sqlite.Value) (*dataframe.Frame, error) {
			f, err := load()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			return f, nil
		}})
	}
}

// readCurves reads the curves of a kind, of all devices.
func readCurves(pool *dataframe.Pool, modules fs.FS, kind string, shape []dataframe.Spec) (*dataframe.Frame, error) {
	if modules == nil {
		return nil, ErrNoCurves
	}
	b := dataframe.NewBuilder(pool, shape...)
	err := fs.WalkDir(modules, CurvesFolder, func(file string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && file == CurvesFolder {
			return ErrNoCurves
		}
		if err != nil || e.IsDir() || path.Base(file) != kind+".csv" {
			return err
		}
		if err := addCurves(b, modules, file, shape); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b.Frame(), nil
}

// ErrNoCurves is wrapped by errors about modules without curves.
var ErrNoCurves = errors.New("the modules have no curves; those of a checkout of Perfetto have them")

// addCurves adds the rows of a file.
func addCurves(b *dataframe.Builder, modules fs.FS, file string, shape []dataframe.Spec) error {
	f, err := modules.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	names := make([]string, len(shape))
	for i, s := range shape {
		names[i] = s.Name
	}
	rows := csv.NewReader(f)
	rows.ReuseRecord = true
	head, err := rows.Read()
	if err != nil && err != io.EOF {
		return err
	}
	if !slices.Equal(head, names) {
		return fmt.Errorf("the columns are not %q", names)
	}
	for {
		row, err := rows.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for i, text := range row {
			var err error
			switch shape[i].Kind {
			case dataframe.Text:
				b.Text(i, text)
			case dataframe.Integer:
				var n int64
				n, err = strconv.ParseInt(text, 10, 64)
				b.Int(i, n)
			case dataframe.Real:
				var x float64
				x, err = strconv.ParseFloat(text, 64)
				b.Float(i, x)
			}
			if err != nil {
				return err
			}
		}
	}
}
