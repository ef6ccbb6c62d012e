package operators

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// A scan goes from the rows of initial nodes along the edges of a graph. In each step a query gets the rows of the nodes that
// were reached, as $table, and gives the rows that go on from them, which are also the result.

// scan is a call of one of the functions.
type scan struct {
	*operators
	name  string
	graph *graph
	init  *dataframe.Frame
	names []string
	query string
	out   *dataframe.Collector
	rows  int
}

// maxScan limits the rows of a scan. One along a cycle has no end.
const maxScan = 1 << 25

// newScan returns the scan for the arguments: a graph, initial rows, a query as text, and the list of its columns after id.
func (o *operators) newScan(name string, args []sqlite.Value) (*scan, error) {
	if args[2].IsNull() || args[3].IsNull() {
		return nil, fmt.Errorf("%s: the query or the list of columns is NULL", name)
	}
	s := &scan{operators: o, name: name, query: args[2].Text(), names: append([]string{"id"}, columnNames(args[3].Text())...)}
	s.graph, _ = args[0].Pointer(graphPointer).(*graph)
	if s.graph == nil {
		s.graph = &graph{}
	}
	s.out = s.collector()
	s.init, _ = args[1].Pointer(rowsPointer).(*dataframe.Frame)
	if s.init == nil {
		s.init = s.collector().Frame()
	}
	var names []string
	for _, c := range s.init.Columns {
		names = append(names, c.Name)
	}
	if !slices.Equal(s.names, names) {
		return nil, fmt.Errorf("%s: the columns are %s, but those of the initial table %s", name, strings.Join(s.names, ","), strings.Join(names, ","))
	}
	return s, nil
}

func (s *scan) collector() *dataframe.Collector {
	return dataframe.NewCollector(s.pool, s.names, nil)
}

// prepare compiles the query. The table of a step is its parameter. The names of its columns count only if named is set, as in
// Trace Processor.
func (s *scan) prepare(named bool) (*sqlite.Stmt, error) {
	var columns, binds []string
	for i, name := range s.names {
		columns = append(columns, fmt.Sprintf("c%d AS %s", i, name))
		binds = append(binds, fmt.Sprintf("%s(c%d, %s)", bindFunction, i, sqltext.QuoteText(name)))
	}
	from := "(SELECT " + strings.Join(columns, ",") + " FROM __intrinsic_table_ptr($var) WHERE " + strings.Join(binds, " AND ") + ")"
	query, err := s.expand("SELECT * FROM " + strings.ReplaceAll(s.query, "$table", from))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	stmt, rest, err := s.db.Prepare(query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	if strings.Trim(rest, "; \t\n") != "" {
		stmt.Close()
		return nil, fmt.Errorf("%s: the query is more than one statement", s.name)
	}
	var names []string
	for i := range stmt.Columns() {
		names = append(names, stmt.Name(i))
	}
	if len(names) != len(s.names) || named && !slices.Equal(names, s.names) {
		stmt.Close()
		return nil, fmt.Errorf("%s: the columns of the query are %s, not %s", s.name, strings.Join(names, ","), strings.Join(s.names, ","))
	}
	return stmt, nil
}

// initial returns the initial nodes.
func (s *scan) initial() ([]uint32, error) {
	ids, err := s.init.Reader(0)
	if err != nil {
		return nil, err
	}
	list := make([]uint32, s.init.Rows)
	for row := range list {
		if ids.IsNull(row) || ids.Kind() != dataframe.Integer {
			return nil, fmt.Errorf("%s: the id of an initial node is not an integer", s.name)
		}
		if list[row], err = node(ids.Int(row)); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return list, nil
}

// start adds the initial rows to the result, and to those of the nodes to which their edges lead.
func (s *scan) start(next func(node uint32) (*dataframe.Collector, error)) error {
	ids, err := s.initial()
	if err != nil {
		return err
	}
	values := make([]dataframe.Reader, len(s.names))
	for i := range values {
		if values[i], err = s.init.Reader(i); err != nil {
			return err
		}
	}
	for row, n := range ids {
		err := s.add(n, next, func(to *dataframe.Collector, i int) error {
			v := values[i]
			switch {
			case v.IsNull(row):
				to.Null(i)
				return nil
			case v.Kind() == dataframe.Integer:
				return to.Int(i, v.Int(row))
			case v.Kind() == dataframe.Real:
				return to.Float(i, v.Float(row))
			}
			return to.Text(i, v.Text(row))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// step runs the query with a table, and adds its rows as start does.
func (s *scan) step(stmt *sqlite.Stmt, rows *dataframe.Frame, next func(node uint32) (*dataframe.Collector, error)) error {
	stmt.Reset()
	if stmt.Parameters() > 0 { // a query need not read its table
		if err := stmt.BindPointer(1, rows, tablePointer); err != nil {
			return err
		}
	}
	for {
		row, err := stmt.Step()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if !row {
			return nil
		}
		n := uint32(stmt.Int(0))
		err = s.add(n, next, func(to *dataframe.Collector, i int) error { return to.Value(i, stmt.Value(i)) })
		if err != nil {
			return err
		}
	}
}

// add adds a row of a node to the result, and one for each of its edges to the rows of the node to which that leads.
func (s *scan) add(n uint32, next func(node uint32) (*dataframe.Collector, error), put func(to *dataframe.Collector, i int) error) error {
	row := func(to *dataframe.Collector, n uint32) error {
		if s.rows++; s.rows > maxScan {
			return errors.New(s.name + ": the result is too large; does the graph have a cycle?")
		}
		if err := to.Int(0, int64(n)); err != nil {
			return err
		}
		for i := 1; i < len(s.names); i++ {
			if err := put(to, i); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		return s.interrupted(s.rows)
	}
	if err := row(s.out, n); err != nil {
		return err
	}
	for _, dest := range s.graph.out(n) {
		to, err := next(dest)
		if err != nil {
			return err
		}
		if err := row(to, dest); err != nil {
			return err
		}
	}
	return nil
}

// graphScan goes one edge further in each step, until no node has edges.
func (o *operators) graphScan(c sqlite.Context, args []sqlite.Value) error {
	s, err := o.newScan("__intrinsic_graph_scan", args)
	if err != nil {
		return err
	}
	reached := s.collector()
	next := func(uint32) (*dataframe.Collector, error) { return reached, nil }
	if err := s.start(next); err != nil {
		return err
	}
	if s.init.Rows > 0 {
		stmt, err := s.prepare(false)
		if err != nil {
			return err
		}
		defer stmt.Close()
		for rows := reached.Frame(); rows.Rows > 0; rows = reached.Frame() {
			reached = s.collector()
			if err := s.step(stmt, rows, next); err != nil {
				return err
			}
		}
	}
	numberedTable(c, s.out.Frame())
	return nil
}

// graphAggregatingScan visits each node once, after all nodes from which edges lead to it, so that the query can aggregate
// their rows.
func (o *operators) graphAggregatingScan(c sqlite.Context, args []sqlite.Value) error {
	s, err := o.newScan("__intrinsic_graph_aggregating_scan", args)
	if err != nil {
		return err
	}
	if s.init.Rows > 0 {
		if err := s.aggregate(); err != nil {
			return err
		}
	}
	numberedTable(c, s.out.Frame())
	return nil
}

func (s *scan) aggregate() error {
	depths, err := s.depths()
	if err != nil {
		return err
	}
	reached := make([]*dataframe.Collector, slices.Max(append(depths, 0))+1)
	for i := range reached {
		reached[i] = s.collector()
	}
	at := int32(len(reached))
	next := func(n uint32) (*dataframe.Collector, error) {
		depth := max(depths[n], 0)
		if depth >= at {
			return nil, fmt.Errorf("%s: the query gave a row of a node that leads to node %d, which is done", s.name, n)
		}
		return reached[depth], nil
	}
	if err := s.start(next); err != nil {
		return err
	}
	stmt, err := s.prepare(true)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for at > 0 {
		at--
		rows := reached[at].Frame()
		reached[at] = nil
		if err := s.step(stmt, rows, next); err != nil {
			return err
		}
	}
	return nil
}

// depths returns the length of the longest path from each node to one without edges, or -1 for nodes that no path reaches
// from an initial node.
func (s *scan) depths() ([]int32, error) {
	const open = -2 // the nodes below are being visited
	starts, err := s.initial()
	if err != nil {
		return nil, err
	}
	depths := make([]int32, s.graph.size())
	for i := range depths {
		depths[i] = -1
	}
	type place struct {
		node uint32
		next int // of its edges
	}
	var stack []place
	enter := func(n uint32) {
		depths[n] = open
		stack = append(stack, place{node: n})
	}
	for _, start := range starts {
		for _, first := range s.graph.out(start) {
			if depths[first] == -1 {
				enter(first)
			}
			for len(stack) > 0 {
				top := &stack[len(stack)-1]
				out := s.graph.out(top.node)
				if top.next < len(out) {
					dest := out[top.next]
					top.next++
					switch depths[dest] {
					case open:
						return nil, fmt.Errorf("%s: the graph has a cycle through node %d", s.name, dest)
					case -1:
						enter(dest)
					}
					continue
				}
				depth := int32(0)
				for _, dest := range out {
					depth = max(depth, depths[dest]+1)
				}
				depths[top.node] = depth
				stack = stack[:len(stack)-1]
			}
		}
	}
	return depths, nil
}
