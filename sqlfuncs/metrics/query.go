package metrics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// generator turns structured queries into PerfettoSQL.
type generator struct {
	shared   map[string]node // queries of the specs, by id
	modules  []string        // that the SQL needs
	preamble []string        // statements before the SQL, once for all queries
	made     []table         // shared queries that are in use
	building []string        // ids of the shared queries being built, outermost first
}

// table is a shared query, made into a table.
type table struct{ id, name, sql string }

// query returns the SQL of a structured query.
func (g *generator) query(q node) (string, error) {
	b := builder{generator: g}
	sql, err := b.selection(q)
	if err != nil {
		return "", err
	}
	if len(b.ctes) > 0 {
		sql = "WITH " + strings.Join(b.ctes, ",\n") + "\n" + sql
	}
	return sql, nil
}

// table returns the name of the table of a shared query.
func (g *generator) table(id string) (string, error) {
	if i := slices.IndexFunc(g.made, func(t table) bool { return t.id == id }); i >= 0 {
		return g.made[i].name, nil
	}
	q, ok := g.shared[id]
	if !ok {
		return "", fmt.Errorf("there is no query with id %s", id)
	}
	if slices.Contains(g.building, id) {
		return "", fmt.Errorf("query %s uses itself", id)
	}
	g.building = append(g.building, id)
	sql, err := g.query(q)
	g.building = g.building[:len(g.building)-1]
	if err != nil {
		return "", fmt.Errorf("query %s: %w", id, err)
	}
	name := "_shared_" + strconv.Itoa(len(g.made))
	g.made = append(g.made, table{id, name, sql})
	return name, nil
}

// setup returns the statements that must run before the queries.
func (g *generator) setup() (all []string) {
	for _, m := range g.modules {
		all = append(all, "INCLUDE PERFETTO MODULE "+m)
	}
	all = append(all, g.preamble...)
	for _, t := range g.made {
		all = append(all, "CREATE OR REPLACE PERFETTO TABLE "+t.name+" AS "+t.sql)
	}
	return all
}

func (g *generator) include(modules ...string) {
	for _, m := range modules {
		if !slices.Contains(g.modules, m) {
			g.modules = append(g.modules, m)
		}
	}
}

// builder builds the SQL of one query. The queries inside it are common table expressions.
type builder struct {
	*generator
	ctes []string
}

// nested returns the name of the table expression of an inner query.
func (b *builder) nested(q node) (string, error) {
	sql, err := b.selection(q)
	if err != nil {
		return "", err
	}
	name := "_query_" + strconv.Itoa(len(b.ctes))
	b.ctes = append(b.ctes, name+" AS (\n"+sql+")")
	return name, nil
}

// need returns the names of inner queries, which must be there.
func (b *builder) need(n node, fields ...string) ([]string, error) {
	var names []string
	for _, field := range fields {
		if !n.has(field) {
			return nil, missing(n, field)
		}
		name, err := b.nested(n.message(field))
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func missing(n node, field string) error {
	return fmt.Errorf("%s has no %s", n.Descriptor().Name(), field)
}

// selection returns the SELECT of a query.
func (b *builder) selection(q node) (string, error) {
	b.include(q.texts("referenced_modules")...)
	from, err := b.source(q)
	if err != nil {
		return "", err
	}
	where, err := b.where(q)
	if err != nil {
		return "", err
	}
	columns, err := columns(q)
	if err != nil {
		return "", err
	}
	sql := "SELECT " + columns + "\nFROM " + from
	if where != "" {
		sql += "\nWHERE " + where
	}
	if by := q.message("group_by").texts("column_names"); len(by) > 0 {
		sql += "\nGROUP BY " + strings.Join(by, ", ")
	}
	if q.has("order_by") {
		order, err := order(q.message("order_by"))
		if err != nil {
			return "", err
		}
		sql += "\nORDER BY " + order
	}
	if q.has("offset") && !q.has("limit") {
		return "", missing(q, "limit, but an offset")
	}
	for _, field := range []string{"limit", "offset"} {
		if n := q.integer(field); n < 0 {
			return "", fmt.Errorf("%s is %d", field, n)
		} else if q.has(field) {
			sql += fmt.Sprintf("\n%s %d", strings.ToUpper(field), n)
		}
	}
	return sql, nil
}

// source returns what a query selects from.
func (b *builder) source(q node) (string, error) {
	kind := q.which("source")
	if kind == "" {
		return "", missing(q, "source")
	}
	if kind == "inner_query_id" {
		return b.table(q.text(kind))
	}
	n := q.message(kind)
	switch kind {
	case "inner_query":
		return b.nested(n)
	case "table":
		if n.text("table_name") == "" {
			return "", missing(n, "table_name")
		}
		if module := n.text("module_name"); module != "" {
			b.include(module)
		}
		return n.text("table_name"), nil
	case "sql":
		return b.sql(n)
	case "simple_slices":
		return simpleSlices(n), nil
	case "experimental_time_range":
		return timeRange(n)
	case "experimental_join":
		return b.join(n)
	case "experimental_union":
		return b.union(n)
	case "experimental_add_columns":
		return b.addColumns(n)
	case "experimental_filter_in":
		return b.filterIn(n)
	case "experimental_create_slices":
		return b.createSlices(n)
	case "experimental_counter_intervals":
		b.include("counters.intervals")
		from, err := b.need(n, "input_query")
		if err != nil {
			return "", err
		}
		return "(SELECT * FROM counter_leading_intervals!(" + from[0] + "))", nil
	case "interval_intersect":
		return b.intersect(n)
	case "experimental_filter_to_intervals":
		return b.filterToIntervals(n)
	}
	return "", fmt.Errorf("the source %s is not supported", kind)
}

// sql returns a query in SQL. Statements before the last one prepare it.
func (b *builder) sql(n node) (string, error) {
	statements, err := sqltext.Split(n.text("sql"))
	if err != nil {
		return "", err
	}
	if len(statements) == 0 {
		return "", missing(n, "sql")
	}
	last := len(statements) - 1
	if n.has("preamble") {
		if last > 0 {
			return "", fmt.Errorf("sql has both a preamble and several statements")
		}
		b.preamble = append(b.preamble, n.text("preamble"))
	}
	for _, s := range statements[:last] {
		b.preamble = append(b.preamble, s.Text)
	}
	names := map[string]string{}
	for _, d := range n.messages("dependencies") {
		if names[d.text("alias")], err = b.nested(d.message("query")); err != nil {
			return "", err
		}
	}
	sql, err := sqltext.Substitute(statements[last].Text, names)
	if err != nil {
		return "", err
	}
	columns := "*"
	if all := n.texts("column_names"); len(all) > 0 {
		columns = strings.Join(all, ", ")
	}
	return "(SELECT " + columns + " FROM (\n" + sql + "\n))", nil
}

// contextSlices are the slices of threads and processes, as in the module slices.with_context.
const contextSlices = `
	SELECT slice.id, slice.ts, slice.dur, slice.name AS slice_name, thread.name AS thread_name, process.name AS process_name, thread_track.name AS track_name
	FROM slice JOIN thread_track ON slice.track_id = thread_track.id JOIN thread USING (utid) LEFT JOIN process USING (upid)
	UNION ALL
	SELECT slice.id, slice.ts, slice.dur, slice.name, NULL, process.name, process_track.name
	FROM slice JOIN process_track ON slice.track_id = process_track.id JOIN process USING (upid)`

func simpleSlices(n node) string {
	var conditions []string
	for _, name := range []string{"slice_name", "thread_name", "process_name", "track_name"} {
		if n.has(name + "_glob") {
			conditions = append(conditions, name+" GLOB "+sqltext.QuoteText(n.text(name+"_glob")))
		}
	}
	sql := "(SELECT * FROM (" + contextSlices + ")"
	if len(conditions) > 0 {
		sql += " WHERE " + strings.Join(conditions, " AND ")
	}
	return sql + ")"
}

func timeRange(n node) (string, error) {
	if !n.has("mode") {
		return "", missing(n, "mode")
	}
	values := map[string]string{"ts": "trace_start()", "dur": "trace_dur()"}
	for name := range values {
		if n.has(name) {
			values[name] = strconv.FormatInt(n.integer(name), 10)
		} else if n.enum("mode") == "STATIC" {
			return "", missing(n, name)
		}
	}
	return fmt.Sprintf("(SELECT 0 AS id, %s AS ts, %s AS dur)", values["ts"], values["dur"]), nil
}

// condition returns the condition of a join between two table expressions, and their aliases.
func condition(n node, left, right string) (on, leftAlias, rightAlias string, err error) {
	kind := n.which("condition")
	if kind == "" {
		return "", "", "", missing(n, "condition")
	}
	c := n.message(kind)
	fields := []string{"left_column", "right_column"}
	if kind == "freeform_condition" {
		fields = []string{"left_query_alias", "right_query_alias", "sql_expression"}
	}
	for _, f := range fields {
		if !c.has(f) {
			return "", "", "", missing(c, f)
		}
	}
	if kind == "freeform_condition" {
		return c.text("sql_expression"), c.text("left_query_alias"), c.text("right_query_alias"), nil
	}
	return left + "." + c.text("left_column") + " = " + right + "." + c.text("right_column"), left, right, nil
}

func (b *builder) join(n node) (string, error) {
	from, err := b.need(n, "left_query", "right_query")
	if err != nil {
		return "", err
	}
	on, left, right, err := condition(n, from[0], from[1])
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("(SELECT * FROM %s AS %s %s JOIN %s AS %s ON %s)", from[0], left, n.enum("type"), from[1], right, on), nil
}

func (b *builder) union(n node) (string, error) {
	queries := n.messages("queries")
	if len(queries) < 2 {
		return "", missing(n, "second query")
	}
	var parts []string
	for _, q := range queries {
		name, err := b.nested(q)
		if err != nil {
			return "", err
		}
		parts = append(parts, "SELECT * FROM "+name)
	}
	all := " UNION "
	if n.truth("use_union_all") {
		all = " UNION ALL "
	}
	return "(" + strings.Join(parts, all) + ")", nil
}

// addColumns is a left join: all rows of the core query, with columns of the input query.
func (b *builder) addColumns(n node) (string, error) {
	from, err := b.need(n, "core_query", "input_query")
	if err != nil {
		return "", err
	}
	on, left, right, err := condition(n, "core", "input")
	if err != nil {
		return "", err
	}
	if left != "core" || right != "input" {
		return "", fmt.Errorf("the queries are core and input, not %s and %s", left, right)
	}
	columns := []string{"core.*"}
	for _, c := range n.messages("input_columns") {
		columns = append(columns, "input."+aliased(c))
	}
	if len(columns) == 1 {
		return "", missing(n, "input_columns")
	}
	return fmt.Sprintf("(SELECT %s FROM %s AS core LEFT JOIN %s AS input ON %s)", strings.Join(columns, ", "), from[0], from[1], on), nil
}

func (b *builder) filterIn(n node) (string, error) {
	from, err := b.need(n, "base", "match_values")
	if err != nil {
		return "", err
	}
	for _, f := range []string{"base_column", "match_column"} {
		if n.text(f) == "" {
			return "", missing(n, f)
		}
	}
	return fmt.Sprintf("(SELECT base.* FROM %s AS base WHERE base.%s IN (SELECT %s FROM %s))",
		from[0], n.text("base_column"), n.text("match_column"), from[1]), nil
}

func (b *builder) createSlices(n node) (string, error) {
	b.include("intervals.create_intervals")
	from, err := b.need(n, "starts_query", "ends_query")
	if err != nil {
		return "", err
	}
	column := func(field string) string {
		if n.text(field) == "" {
			return "ts"
		}
		return n.text(field)
	}
	return fmt.Sprintf("(SELECT * FROM _interval_create!((SELECT %s AS ts FROM %s), (SELECT %s AS ts FROM %s)))",
		column("starts_ts_column"), from[0], column("ends_ts_column"), from[1]), nil
}

// partition returns the columns by which intervals are kept apart.
func partition(n node) ([]string, error) {
	columns := n.texts("partition_columns")
	for i, c := range columns {
		same := func(other string) bool { return strings.EqualFold(c, other) }
		if c == "" || slices.ContainsFunc([]string{"id", "ts", "dur"}, same) || slices.ContainsFunc(columns[:i], same) {
			return nil, fmt.Errorf("partition column %q is not allowed", c)
		}
	}
	return columns, nil
}

func (b *builder) intersect(n node) (string, error) {
	b.include("intervals.intersect")
	by, err := partition(n)
	if err != nil {
		return "", err
	}
	from, err := b.need(n, "base")
	if err != nil {
		return "", err
	}
	for _, q := range n.messages("interval_intersect") {
		name, err := b.nested(q)
		if err != nil {
			return "", err
		}
		from = append(from, name)
	}
	if len(from) == 1 {
		return "", missing(n, "interval_intersect")
	}
	columns, joins := "ii.ts, ii.dur", ""
	for _, c := range by {
		columns += ", ii." + c
	}
	for i, name := range from {
		source := "source_" + strconv.Itoa(i)
		columns += fmt.Sprintf(", %[1]s.id AS id_%[2]d, %[1]s.ts AS ts_%[2]d, %[1]s.dur AS dur_%[2]d, %[1]s.*", source, i)
		joins += fmt.Sprintf(" JOIN %s AS %s ON ii.id_%d = %s.id", name, source, i, source)
	}
	return fmt.Sprintf("(SELECT %s FROM _interval_intersect!((%s), (%s)) ii%s)", columns, strings.Join(from, ", "), strings.Join(by, ", "), joins), nil
}

func (b *builder) filterToIntervals(n node) (string, error) {
	b.include("intervals.intersect", "intervals.overlap")
	by, err := partition(n)
	if err != nil {
		return "", err
	}
	from, err := b.need(n, "base", "intervals")
	if err != nil {
		return "", err
	}
	// Overlapping intervals are merged, so that a row of the base appears once.
	merged := "_query_" + strconv.Itoa(len(b.ctes))
	merge := "interval_merge_overlapping!(" + from[1] + ", 0)"
	if len(by) > 0 {
		merge = "interval_merge_overlapping_partitioned!(" + from[1] + ", (" + by[0] + "))"
	}
	b.ctes = append(b.ctes, fmt.Sprintf("%s AS (SELECT %s FROM %s)", merged,
		strings.Join(append([]string{"ROW_NUMBER() OVER (ORDER BY ts) AS id", "ts", "dur"}, by...), ", "), merge))
	clip := !n.has("clip_to_intervals") || n.truth("clip_to_intervals")
	var columns, original []string
	if clip {
		columns = []string{"ii.ts", "ii.dur"}
	}
	for _, c := range n.texts("select_columns") {
		if clip && (strings.EqualFold(c, "ts") || strings.EqualFold(c, "dur")) {
			original = append(original, "base_0."+c+" AS original_"+strings.ToLower(c))
		} else {
			columns = append(columns, "base_0."+c)
		}
	}
	if len(n.texts("select_columns")) == 0 {
		columns = append(columns, "base_0.*")
	}
	return fmt.Sprintf("(SELECT %s FROM _interval_intersect!((%s, %s), (%s)) ii JOIN %s AS base_0 ON ii.id_0 = base_0.id)",
		strings.Join(append(columns, original...), ", "), from[0], merged, strings.Join(by, ", "), from[0]), nil
}

func (b *builder) where(q node) (string, error) {
	if q.has("experimental_filter_group") {
		return group(q.message("experimental_filter_group"))
	}
	return joined(q.messages("filters"), " AND ", filter)
}

// joined joins the SQL of conditions.
func joined(conditions []node, operator string, sql func(node) (string, error)) (string, error) {
	var parts []string
	for _, c := range conditions {
		part, err := sql(c)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, operator), nil
}

// group returns the SQL of a group of conditions, of which all or any must hold.
func group(n node) (string, error) {
	operator := n.enum("op")
	if operator != "AND" && operator != "OR" {
		return "", missing(n, "op")
	}
	operator = " " + operator + " "
	filters, err := joined(n.messages("filters"), operator, filter)
	if err != nil {
		return "", err
	}
	groups, err := joined(n.messages("groups"), operator, func(inner node) (string, error) {
		sql, err := group(inner)
		return "(" + sql + ")", err
	})
	if err != nil {
		return "", err
	}
	parts := slices.DeleteFunc(append([]string{filters, groups}, n.texts("sql_expressions")...), func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return "", missing(n, "condition")
	}
	return strings.Join(parts, operator), nil
}

var operators = map[string]string{
	"EQUAL": "=", "NOT_EQUAL": "!=", "LESS_THAN": "<", "LESS_THAN_EQUAL": "<=", "GREATER_THAN": ">", "GREATER_THAN_EQUAL": ">=",
	"GLOB": "GLOB", "IS_NULL": "IS NULL", "IS_NOT_NULL": "IS NOT NULL",
}

// filter returns the SQL of a condition on a column. With several values, any may match.
func filter(n node) (string, error) {
	operator, ok := operators[n.enum("op")]
	if !ok {
		return "", missing(n, "op")
	}
	column := n.text("column_name")
	if strings.HasSuffix(operator, "NULL") {
		return column + " " + operator, nil
	}
	var values []string
	for _, text := range n.texts("string_rhs") {
		values = append(values, sqltext.QuoteText(text))
	}
	if len(values) == 0 {
		for _, v := range n.values("double_rhs") {
			values = append(values, strconv.FormatFloat(v.Float(), 'g', -1, 64))
		}
	}
	if len(values) == 0 {
		for _, v := range n.values("int64_rhs") {
			values = append(values, strconv.FormatInt(v.Int(), 10))
		}
	}
	if len(values) == 0 {
		return "", missing(n, "value")
	}
	for i, v := range values {
		values[i] = column + " " + operator + " " + v
	}
	return "(" + strings.Join(values, " OR ") + ")", nil
}

// columns returns the columns that a query selects.
func columns(q node) (string, error) {
	chosen := q.messages("select_columns")
	if !q.has("group_by") {
		if len(chosen) == 0 {
			return "*", nil
		}
		return joined(chosen, ", ", func(c node) (string, error) { return aliased(c), nil })
	}
	// Only groups and aggregates can be chosen. They keep their order.
	var list []string
	add := func(sql, name string) {
		as := name
		if len(chosen) > 0 {
			i := slices.IndexFunc(chosen, func(c node) bool { return expression(c) == name })
			if i < 0 {
				return
			}
			if chosen[i].has("alias") {
				as = chosen[i].text("alias")
			}
		}
		if as != sql {
			sql += " AS " + as
		}
		list = append(list, sql)
	}
	by := q.message("group_by")
	for _, name := range by.texts("column_names") {
		add(name, name)
	}
	for _, a := range by.messages("aggregates") {
		sql, err := aggregate(a)
		if err == nil && a.text("result_column_name") == "" {
			err = missing(a, "result_column_name")
		}
		if err != nil {
			return "", err
		}
		add(sql, a.text("result_column_name"))
	}
	return strings.Join(list, ", "), nil
}

func expression(column node) string {
	if column.has("column_name_or_expression") {
		return column.text("column_name_or_expression")
	}
	return column.text("column_name")
}

func aliased(column node) string {
	if alias := column.text("alias"); alias != "" {
		return expression(column) + " AS " + alias
	}
	return expression(column)
}

func aggregate(n node) (string, error) {
	op, column := n.enum("op"), n.text("column_name")
	switch {
	case op == "COUNT" && column == "":
		return "COUNT(*)", nil
	case op == "CUSTOM" && n.has("custom_sql_expression"):
		return n.text("custom_sql_expression"), nil
	case op == "CUSTOM":
		return "", missing(n, "custom_sql_expression")
	case column == "":
		return "", missing(n, "column_name")
	}
	switch op {
	case "COUNT", "SUM", "MIN", "MAX":
		return op + "(" + column + ")", nil
	case "COUNT_DISTINCT":
		return "COUNT(DISTINCT " + column + ")", nil
	case "MEAN":
		return "AVG(" + column + ")", nil
	case "MEDIAN":
		return percentile(column, 50), nil
	case "PERCENTILE":
		if !n.has("percentile") {
			return "", missing(n, "percentile")
		}
		return percentile(column, n.real("percentile")), nil
	case "DURATION_WEIGHTED_MEAN":
		// The product of two integers could overflow.
		return "SUM(cast_double!(" + column + ") * dur) / cast_double!(SUM(dur))", nil
	}
	return "", missing(n, "op")
}

// percentile returns the SQL of PERCENTILE, by functions that collect the values of a column once for all its percentiles.
func percentile(column string, p float64) string {
	return "_percentile(_percentile_values(" + column + "), " + strconv.FormatFloat(p, 'g', -1, 64) + ")"
}

func order(n node) (string, error) {
	specs := n.messages("ordering_specs")
	if len(specs) == 0 {
		return "", missing(n, "ordering_specs")
	}
	return joined(specs, ", ", func(s node) (string, error) {
		column := s.text("column_name")
		if column == "" {
			return "", missing(s, "column_name")
		}
		if s.enum("direction") == "DESC" {
			column += " DESC"
		}
		return column, nil
	})
}
