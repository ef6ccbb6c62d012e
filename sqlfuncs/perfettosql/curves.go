package perfettosql

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// CurvesFolder is the folder among the modules that has Wattson's curves, as DEVICE/KIND.csv. Trace Processor has them built in.
const CurvesFolder = "wattson/curves/data"

// curves is the beginning of the names of the functions that return Wattson's curves.
const curves = "__intrinsic_wattson_curves_"

// integerCurves are the columns of curves that have integers; device has text, and the others have reals.
var integerCurves = map[string]bool{
	"policy": true, "freq_khz": true, "dep_policy": true, "dep_freq": true, "cluster": true, "requests": true, "freq": true,
}

// readCurves makes the functions that return Wattson's curves, if the modules have the curves.
func (s *Session) readCurves(ctx context.Context) error {
	if s.Modules == nil || s.curves {
		return nil
	}
	s.curves = true
	rows, heads := map[string][]string{}, map[string][]string{}
	err := fs.WalkDir(s.Modules, CurvesFolder, func(file string, e fs.DirEntry, err error) error {
		kind, table := strings.CutSuffix(path.Base(file), ".csv")
		if errors.Is(err, fs.ErrNotExist) && file == CurvesFolder {
			return fs.SkipAll
		}
		if err != nil || e.IsDir() || !table {
			return err
		}
		text, err := fs.ReadFile(s.Modules, file)
		if err != nil {
			return err
		}
		records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil || len(records) == 0 {
			return fmt.Errorf("%s: no curves: %w", file, err)
		}
		heads[kind] = records[0]
		for _, record := range records[1:] {
			for i, value := range record {
				if records[0][i] != "device" && !isNumber(value) {
					return fmt.Errorf("%s: %q is no number", file, value)
				}
			}
			rows[kind] = append(rows[kind], strings.Join(record, "\t"))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for kind, all := range rows {
		var columns []string
		for i, name := range heads[kind] {
			kind := "DOUBLE"
			switch {
			case name == "device":
				kind = "VARCHAR"
			case integerCurves[name]:
				kind = "BIGINT"
			}
			columns = append(columns, fmt.Sprintf("_values[%d]::%s AS %s", i+1, kind, identifier(name)))
		}
		// One text is parsed much faster than as many literals.
		values := fmt.Sprintf("SELECT string_split(unnest(string_split(%s, chr(10))), chr(9)) AS _values", literal(strings.Join(all, "\n")))
		table := identifier("_wattson_" + kind)
		for _, statement := range []string{
			fmt.Sprintf("CREATE TABLE %s AS SELECT %s FROM (%s)", table, strings.Join(columns, ", "), values),
			fmt.Sprintf("CREATE MACRO %s() AS TABLE FROM %s", identifier(curves+kind), table),
		} {
			if _, err := s.Conn.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		s.overlay[curves+kind] = true
	}
	return nil
}
