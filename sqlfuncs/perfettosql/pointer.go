package perfettosql

import (
	"fmt"
	"strings"
)

// Trace Processor's modules pass tables to functions as pointers, which aggregates build from rows. They read
// tables from the pointers that the functions return:
//
//	SELECT c0 AS ts FROM __intrinsic_table_ptr(f((SELECT agg(ts) FROM t))) WHERE __intrinsic_table_ptr_bind(c0, 'ts')
//
// Here such a function is a table macro, and its argument is the name of a query.

// pointed has the column names for the arguments of each aggregate. Further arguments come in pairs, a name
// and a value.
var pointed = map[string][]string{
	"__intrinsic_interval_tree_intervals_agg": {"id", "ts", "dur"},
	"__intrinsic_counter_per_track_agg":       {"id", "ts", "track_id", "value"},
	"__intrinsic_timestamp_set_agg":           {"ts"},
	"__intrinsic_graph_agg":                   {"source_node_id", "dest_node_id"},
	"__intrinsic_array_agg":                   {"node_id"},
	"__intrinsic_wakeup_graph_agg":            {"id", "utid", "ts", "dur", "idle_dur", "waker_id", "prev_id"},
	"__intrinsic_row_dataframe_agg":           {},
	"__intrinsic_dominator_tree":              {"source_node_id", "dest_node_id", "root_node_id"},
	"__intrinsic_structural_tree_partition":   {"node_id", "parent_node_id", "group_key"},
}

// pointTo translates an aggregate into the columns of a query.
func (p *parser) pointTo(names []string, args []expr, t token) expr {
	if len(args) < len(names) || (len(args)-len(names))%2 != 0 {
		p.fail(t, "%s: it has %d arguments", t.text, len(args))
	}
	var columns []pieces
	for i, name := range names {
		columns = append(columns, cat(args[i].whole(), " AS ", identifier(name)))
	}
	for pair := args[len(names):]; len(pair) > 0; pair = pair[2:] {
		columns = append(columns, cat(pair[1].whole(), " AS ", identifier(pair[0].raw)))
	}
	p.in.pointer = strings.ToLower(t.text)
	return expr{sql: list(columns), pointer: p.in.pointer}
}

// tablePointer parses what is in __intrinsic_table_ptr(...): a function call, or a query for an aggregate that makes a table.
func (p *parser) tablePointer() pieces {
	t := p.peek()
	name := strings.ToLower(t.text)
	var given []expr
	if t.is("(") {
		given = []expr{p.expression()}
		if name = given[0].pointer; !p.overlay[name] {
			p.fail(t, "this is not a table pointer")
		}
	} else {
		p.next()
		scan := name == graphScan || name == graphAggregatingScan
		if !p.accept("(") || name != intersect && !scan && !p.overlay[name] {
			p.fail(t, "%s of Trace Processor is not supported", t.text)
		}
		given = p.arguments()
		if scan {
			return p.boundTo(p.scan(name == graphAggregatingScan, given, t))
		}
	}
	var queries []pieces
	var args []expr
	for _, arg := range given {
		if arg.pointer != "" {
			query := fmt.Sprintf("_pointer%d", len(queries))
			queries = append(queries, cat(query, " AS ", arg.sql))
			arg = expr{sql: cat(literal(query))}
		}
		args = append(args, arg)
	}
	call := cat(&piece{text: name + "(", pos: t.pos}, list(values(args)), ")")
	if name == intersect {
		steps, result := intersection(values(args))
		queries, call = append(queries, steps...), cat(result)
	}
	if queries != nil {
		call = cat("(WITH ", list(queries), " FROM ", call, ")")
	}
	return p.boundTo(call)
}

// boundTo returns a query for the columns of a table pointer that the statement binds.
func (p *parser) boundTo(table pieces) pieces {
	p.in.bound = &piece{text: "*", pos: -1}
	return cat("(SELECT ", p.in.bound, " FROM ", table, ")")
}

// bind records the name that a query uses for a column of a table pointer.
func (p *parser) bind(args []expr, t token) expr {
	if p.in == nil || p.in.bound == nil || len(args) != 2 || args[0].ref == nil || args[1].constant != text {
		p.fail(t, "%s: want a column of a table pointer and a name", t.text)
	}
	column := identifier(args[1].raw) + " AS " + identifier(args[0].ref.name)
	p.in.binds = append(p.in.binds, field{args[0].ref.name, always(unknown)})
	if bound := p.in.bound; bound.text == "*" {
		bound.text = column
	} else {
		bound.text += ", " + column
	}
	return expr{sql: cat("true"), truth: true}
}

const (
	intersect    = "__intrinsic_interval_intersect"
	intersectMax = 15 // maximum number of tables; every result has an id column for each
)

// intersection intersects any number of tables, one after the other. The id of an intermediate result is the
// list of its ids. The last argument is the partition.
func intersection(args []pieces) (steps []pieces, result string) {
	by := args[len(args)-1]
	for i, source := range args[:len(args)-1] {
		step := cat(fmt.Sprintf("_common%d AS (", i))
		if i == 0 {
			step = cat(step, "SELECT * REPLACE ([id] AS id) FROM relation(", source, "))")
		} else {
			step = cat(step, fmt.Sprintf("SELECT * EXCLUDE (id_0, id_1), list_append(id_0, id_1) AS id FROM interval_intersect('_common%d', ", i-1),
				source, ", nullif(trim(", by, ", '() '), '')))")
		}
		steps = append(steps, step)
		result = fmt.Sprintf("_common%d", i)
	}
	var ids strings.Builder
	for i := range intersectMax {
		fmt.Fprintf(&ids, ", id[%d] AS id_%d", i+1, i)
	}
	return steps, "(SELECT *" + ids.String() + " FROM " + result + ")"
}
