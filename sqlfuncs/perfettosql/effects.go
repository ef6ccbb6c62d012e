package perfettosql

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/operators"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// defineEffects defines the functions that change the engine: those of the time before CREATE PERFETTO ....
func (e *Engine) defineEffects() error {
	for _, f := range []struct {
		name string
		args int
		call func(args []sqlite.Value) error
	}{
		{"create_function", 3, e.callCreateFunction},
		{"create_view_function", 3, e.callCreateView},
		{"experimental_memoize", 1, func(args []sqlite.Value) error { return e.memoize(args[0].Text()) }},
		{"import", 1, func(args []sqlite.Value) error { return e.includeModule(args[0].Text()) }},
		{"run_metric", -1, e.callRunMetric},
	} {
		err := e.db.Function(f.name, f.args, sqlite.DirectOnly, func(c sqlite.Context, args []sqlite.Value) error {
			for i, a := range args {
				if a.Type() != sqlite.TextOf && f.args > 0 {
					return fmt.Errorf("%s: argument %d must be text", strings.ToUpper(f.name), i+1)
				}
			}
			if err := f.call(args); err != nil {
				return err
			}
			c.Pointer(struct{}{}, silent)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// callCreateFunction runs CREATE_FUNCTION('name(a INT)', 'INT', 'SELECT ...').
func (e *Engine) callCreateFunction(args []sqlite.Value) error {
	return e.run("CREATE OR REPLACE PERFETTO FUNCTION "+args[0].Text()+" RETURNS "+args[1].Text()+" AS "+args[2].Text(), nil, false)
}

// callCreateView runs CREATE_VIEW_FUNCTION('name(a INT)', 'x INT, y STRING', 'SELECT ...').
func (e *Engine) callCreateView(args []sqlite.Value) error {
	return e.run("CREATE OR REPLACE PERFETTO FUNCTION "+args[0].Text()+" RETURNS TABLE("+args[1].Text()+") AS "+args[2].Text(), nil, false)
}

// placeholder matches the places in a template for the arguments of RUN_METRIC.
var placeholder = regexp.MustCompile(`\{\{\s*(\w*)\s*\}\}`)

// callRunMetric runs the statements of a template. The first argument is its file; names and values for placeholders follow.
func (e *Engine) callRunMetric(args []sqlite.Value) error {
	if e.options.Metrics == nil {
		return fmt.Errorf("RUN_METRIC: --stdlib must name a checkout of Perfetto, which has the templates")
	}
	if len(args)%2 == 0 {
		return fmt.Errorf("RUN_METRIC: want a template, and names and values")
	}
	file := args[0].Text()
	source, err := e.options.Metrics.Template(file)
	if err != nil {
		return fmt.Errorf("RUN_METRIC: %w", err)
	}
	values := map[string]string{}
	for i := 1; i < len(args); i += 2 {
		values[args[i].Text()] = args[i+1].Text()
	}
	missing := ""
	source = placeholder.ReplaceAllStringFunc(source, func(found string) string {
		name := placeholder.FindStringSubmatch(found)[1]
		value, ok := values[name]
		if !ok {
			missing = name
		}
		return value
	})
	if missing != "" {
		return fmt.Errorf("RUN_METRIC: %s needs a value for %s", file, missing)
	}
	statements, err := sqltext.Split(source)
	if err != nil {
		return fmt.Errorf("RUN_METRIC: %s: %w", file, err)
	}
	for _, one := range statements {
		if err := e.run(one.Text, nil, false); err != nil {
			return fmt.Errorf("%s, line %d: %w", file, 1+strings.Count(source[:one.Pos], "\n"), err)
		}
	}
	return nil
}

// defineMetrics defines the functions that build the messages of metrics, once a statement calls one: there are hundreds.
func (e *Engine) defineMetrics() error {
	if e.built || e.options.Metrics == nil {
		return nil
	}
	e.built = true
	names, err := e.options.Metrics.Functions()
	if err != nil {
		return err
	}
	for _, name := range names {
		err := e.db.Function(name, -1, 0, func(c sqlite.Context, args []sqlite.Value) error {
			values := make([]any, len(args))
			for i, a := range args {
				values[i] = a.Any()
				if blob, ok := values[i].([]byte); ok {
					list, err := operators.RepeatedValues(blob)
					if err != nil {
						return err
					}
					if list != nil {
						values[i] = list
					}
				}
			}
			b, err := e.options.Metrics.Build(name, values)
			if err == nil {
				c.Blob(b)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
