// Package metrics computes Trace Processor's metrics of version 2. A TraceSummarySpec
// describes them by structured queries; the result is a TraceSummary. Both are messages
// of Perfetto.
package metrics

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tpconvert/tpconvert/internal/perfetto"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

//go:embed specs/*.textproto
var specs embed.FS

// Builtin returns the names of the specs that need no file.
func Builtin() (names []string) {
	files, err := fs.Glob(specs, "specs/*.textproto")
	if err != nil {
		panic(err) // the pattern is constant
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".textproto"))
	}
	return names
}

// Spec returns the text of a spec that needs no file, or false.
func Spec(name string) ([]byte, bool) {
	text, err := specs.ReadFile("specs/" + name + ".textproto")
	return text, err == nil
}

// messageType returns a type of message of Perfetto.
func messageType(name protoreflect.Name) (protoreflect.MessageType, error) {
	files, err := files()
	if err != nil {
		return nil, err
	}
	d, err := files.FindDescriptorByName("perfetto.protos." + protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	return dynamicpb.NewMessageType(d.(protoreflect.MessageDescriptor)), nil
}

var files = sync.OnceValues(func() (*protoregistry.Files, error) { return perfetto.File("protos/perfetto/trace_summary/file.proto") })

// Summarizer computes the metrics of specs.
type Summarizer struct {
	queries map[string]node // shared queries, by id
	metrics []node          // TraceMetricV2Spec
	digests []string        // of the specs that Add added
}

// Add adds a TraceSummarySpec, as text or encoded.
func (s *Summarizer) Add(spec []byte) error {
	s.digests = append(s.digests, Digest(spec))
	if utf8.Valid(spec) && !slices.Contains(spec, 0) {
		return s.AddText(spec)
	}
	return s.AddEncoded(spec)
}

// AddText adds a TraceSummarySpec as text.
func (s *Summarizer) AddText(spec []byte) error { return s.add(spec, readText) }

// textPlace matches the place in an error of prototext.
var textPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(line (\d+):(\d+)\): `) })

// readText reads a message as text. Its error begins with line and column.
func readText(text []byte, to proto.Message) error {
	err := prototext.Unmarshal(text, to)
	if err == nil {
		return nil
	}
	message := strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0")
	if m := textPlace().FindStringSubmatch(message); m != nil {
		return fmt.Errorf("line %s, column %s: %s", m[1], m[2], strings.Replace(message, m[0], "", 1))
	}
	end := bytes.TrimRight(text, "\n")
	column := 1 + utf8.RuneCount(end[bytes.LastIndexByte(end, '\n')+1:])
	return fmt.Errorf("line %d, column %d: %s", 1+bytes.Count(end, []byte{'\n'}), column, message)
}

// AddEncoded adds an encoded TraceSummarySpec.
func (s *Summarizer) AddEncoded(spec []byte) error { return s.add(spec, proto.Unmarshal) }

func (s *Summarizer) add(spec []byte, unmarshal func([]byte, proto.Message) error) error {
	message, err := messageType("TraceSummarySpec")
	if err != nil {
		return err
	}
	n := node{message.New()}
	if err := unmarshal(spec, n.Interface()); err != nil {
		return err
	}
	if s.queries == nil {
		s.queries = map[string]node{}
	}
	for _, q := range n.messages("query") {
		id := q.text("id")
		if _, ok := s.queries[id]; ok || id == "" {
			return fmt.Errorf("query id %q is missing or not unique", id)
		}
		s.queries[id] = q
	}
	s.metrics = append(s.metrics, n.messages("metric_spec")...)
	for _, t := range n.messages("metric_template_spec") {
		expanded, err := expand(t)
		if err != nil {
			return err
		}
		s.metrics = append(s.metrics, expanded...)
	}
	for i, m := range s.metrics {
		id := m.text("id")
		if id == "" || strings.EqualFold(id, "all") {
			return fmt.Errorf("metric id %q is not allowed", id)
		}
		if slices.ContainsFunc(s.metrics[:i], func(other node) bool { return other.text("id") == id }) {
			return fmt.Errorf("there are several metrics %s", id)
		}
	}
	return nil
}

// expand returns a metric for each value of a template.
func expand(t node) (metrics []node, err error) {
	prefix := t.text("id_prefix")
	if prefix == "" {
		return nil, missing(t, "id_prefix")
	}
	names, values := t.texts("value_columns"), t.messages("value_column_specs")
	if len(names) > 0 && len(values) > 0 {
		return nil, errors.New("TraceMetricV2TemplateSpec has both value_columns and value_column_specs")
	}
	message, err := messageType("TraceMetricV2Spec")
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		names = append(names, v.text("name"))
	}
	for i, name := range names {
		m := node{message.New()}
		for _, field := range []string{"dimensions_specs", "dimensions", "query", "dimension_uniqueness", "interned_dimension_specs"} {
			m.take(field, t)
		}
		if len(values) > 0 {
			for _, field := range []string{"unit", "custom_unit", "polarity"} {
				m.take(field, values[i])
			}
		}
		m.set("id", prefix+"_"+name).set("value", name)
		if !t.truth("disable_auto_bundling") {
			m.set("bundle_id", prefix)
		}
		metrics = append(metrics, m)
	}
	return metrics, nil
}

// IDs returns the ids of the metrics.
func (s *Summarizer) IDs() (ids []string) {
	for _, m := range s.metrics {
		ids = append(ids, m.text("id"))
	}
	return ids
}

// bundle is the metrics that share a query.
type bundle struct {
	id       string
	metrics  []node
	sql      string
	interned []string // queries of the interned dimensions
}

// Summarize computes metrics, or all if ids is nil. The rows of the query with the id metadata, which have a key and a
// value, become the summary's metadata; "" is none. The session runs PerfettoSQL.
func (s *Summarizer) Summarize(ctx context.Context, db *session.Session, ids []string, metadata string) (*Summary, error) {
	g := &generator{shared: s.queries}
	bundles, err := s.bundles(g, ids)
	if err != nil {
		return nil, err
	}
	facts := ""
	if metadata != "" {
		name, err := g.table(metadata)
		if err != nil {
			return nil, err
		}
		facts = "SELECT * FROM " + name
	}
	defer func() {
		for _, t := range g.made {
			_ = db.Each(context.WithoutCancel(ctx), "DROP TABLE IF EXISTS "+t.name, func(*session.Query) error { return nil })
		}
	}()
	for _, statement := range g.setup() {
		if err := db.Each(ctx, statement, func(*session.Query) error { return errors.New("only the last statement of sql may return rows") }); err != nil {
			return nil, err
		}
	}
	summary := &Summary{}
	for _, b := range bundles {
		c, err := b.compute(ctx, db)
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", b.id, err)
		}
		c.table.Main = c.table.Dimensions + mainOf(b.metrics, ids)
		summary.bundles = append(summary.bundles, c)
	}
	if metadata != "" {
		err = rows(ctx, db, facts, []column{{name: "key"}, {name: "value"}}, func(row []any) error {
			key, isKey := row[0].(string)
			value, isText := row[1].(string)
			switch {
			case isKey && isText:
				summary.metadata = append(summary.metadata, [2]string{key, value})
			case !isKey || row[1] != nil:
				return fmt.Errorf("query %s gives %v and %v, where texts were expected", metadata, row[0], row[1])
			}
			return nil
		})
	}
	return summary, err
}

// Query is the SQL of a bundle.
type Query struct {
	ID    string
	Setup []string          // statements that must run before
	SQL   string            // gives the rows, in the bundle's order
	Units map[string]string // of the columns with values, as the spec has them
}

// Queries returns the SQL of all metrics that need no interned dimensions.
func (s *Summarizer) Queries() (all []Query, err error) {
	bundles, err := s.bundles(&generator{shared: s.queries}, nil)
	if err != nil {
		return nil, err
	}
	for _, b := range bundles {
		g := &generator{shared: s.queries} // which makes only the tables that this bundle needs
		sql, err := g.query(b.metrics[0].message("query"))
		if err != nil {
			return nil, err
		}
		q := Query{ID: b.id, Setup: g.setup(), SQL: sql, Units: map[string]string{}}
		for _, m := range b.metrics {
			q.Units[m.text("value")] = m.enum("unit")
		}
		all = append(all, q)
	}
	return all, nil
}

// bundles returns the bundles of metrics, in order, with their SQL.
func (s *Summarizer) bundles(g *generator, ids []string) (bundles []*bundle, err error) {
	for _, id := range ids {
		if !slices.Contains(s.IDs(), id) {
			return nil, fmt.Errorf("there is no metric %s, only %s", id, strings.Join(s.IDs(), ", "))
		}
	}
	for _, m := range s.metrics {
		id := m.text("id")
		if ids != nil && !slices.Contains(ids, id) {
			continue
		}
		bundleID := m.text("bundle_id")
		if bundleID == "" {
			bundleID = id
		}
		if i := slices.IndexFunc(bundles, func(b *bundle) bool { return b.id == bundleID }); i >= 0 {
			if err := bundles[i].join(m); err != nil {
				return nil, err
			}
			continue
		}
		b := &bundle{id: bundleID, metrics: []node{m}}
		if b.sql, err = g.query(m.message("query")); err != nil {
			return nil, fmt.Errorf("metric %s: %w", id, err)
		}
		for _, dimension := range m.messages("interned_dimension_specs") {
			sql, err := g.query(dimension.message("query"))
			if err != nil {
				return nil, fmt.Errorf("metric %s: interned dimension: %w", id, err)
			}
			b.interned = append(b.interned, sql)
		}
		bundles = append(bundles, b)
	}
	return bundles, nil
}

// join adds a metric that must agree with the others.
func (b *bundle) join(m node) error {
	for _, field := range []string{"bundle_id", "dimension_uniqueness", "dimensions", "dimensions_specs", "query"} {
		first := b.metrics[0]
		if !first.Get(first.field(field)).Equal(m.Get(m.field(field))) {
			return fmt.Errorf("metrics %s and %s of bundle %s have a different %s", first.text("id"), m.text("id"), b.id, field)
		}
	}
	b.metrics = append(b.metrics, m)
	return nil
}

// column is a column of a query's rows, with the type that the spec gives or "".
type column struct {
	name, kind string
	integer    bool // in the rows
}

const anyType = "DIMENSION_TYPE_UNSPECIFIED"

// dimensions returns the dimensions of a metric.
func dimensions(m node) (all []column, err error) {
	specs := m.messages("dimensions_specs")
	names := m.texts("dimensions")
	if len(specs) > 0 && len(names) > 0 {
		return nil, errors.New("it has both dimensions and dimensions_specs")
	}
	for _, name := range names {
		all = append(all, column{name: name, kind: anyType})
	}
	for _, s := range specs {
		if s.enum("type") == anyType {
			return nil, fmt.Errorf("dimension %s has no type", s.text("name"))
		}
		all = append(all, column{name: s.text("name"), kind: s.enum("type")})
	}
	return all, nil
}

// computed is a bundle with its rows.
type computed struct {
	*bundle
	table    Table
	interned [][][]any // rows of each interned dimension: the key, then what describes it
}

// pair is a key of maps that has the values of several columns.
type pair struct{ others, last any }

// compute runs the queries of a bundle.
func (b *bundle) compute(ctx context.Context, db *session.Session) (*computed, error) {
	first := b.metrics[0]
	table, err := tableOf(b.id, b.metrics)
	if err != nil {
		return nil, err
	}
	wanted, err := dimensions(first)
	if err != nil {
		return nil, err
	}
	interned, err := internedDimensions(first, wanted)
	if err != nil {
		return nil, err
	}
	count := len(wanted)
	for _, m := range b.metrics {
		wanted = append(wanted, column{name: m.text("value")})
	}
	uniqueness, unique := first.enum("dimension_uniqueness") == "UNIQUE", map[any]bool{}
	keys := make([]map[any]bool, len(interned))
	for i := range keys {
		keys[i] = map[any]bool{}
	}
	err = rows(ctx, db, b.sql, wanted, func(row []any) (err error) {
		if !slices.ContainsFunc(row[count:], func(v any) bool { return v != nil }) {
			return nil
		}
		for i, d := range interned {
			keys[i][row[d.key]] = true
		}
		out, key := make([]any, len(row)), any(nil)
		for i, v := range row[:count] {
			if out[i], err = wanted[i].dimension(v); err != nil {
				return err
			}
			key = pair{key, v}
		}
		if uniqueness {
			if unique[key] {
				return errors.New("its dimensions are not unique")
			}
			unique[key] = true
		}
		for i := count; i < len(row); i++ {
			if out[i], err = wanted[i].value(row[i]); err != nil {
				return err
			}
		}
		table.Rows = append(table.Rows, out)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, unit := range table.Units {
		if unit == "COUNT" && wanted[count+i].integer {
			table.makeInteger(count + i)
		}
	}
	c := &computed{bundle: b, table: table}
	for i, d := range interned {
		described, err := d.compute(ctx, db, b.interned[i], keys[i])
		if err != nil {
			return nil, err
		}
		c.interned = append(c.interned, described)
	}
	return c, nil
}

// internedDimension describes the values of a dimension by more columns.
type internedDimension struct {
	key     int      // index of the dimension
	columns []column // the key, then what describes it
}

func internedDimensions(m node, dimensions []column) (all []internedDimension, err error) {
	for _, s := range m.messages("interned_dimension_specs") {
		if !s.has("key_column_spec") {
			return nil, missing(s, "key_column_spec")
		}
		d := internedDimension{}
		for _, c := range append([]node{s.message("key_column_spec")}, s.messages("data_column_specs")...) {
			col := column{name: c.text("name"), kind: c.enum("type")}
			if slices.ContainsFunc(d.columns, func(other column) bool { return other.name == col.name }) {
				return nil, fmt.Errorf("interned dimension %s has two columns %s", d.columns[0].name, col.name)
			}
			d.columns = append(d.columns, col)
		}
		key := d.columns[0].name
		if d.key = slices.IndexFunc(dimensions, func(c column) bool { return c.name == key }); d.key < 0 {
			return nil, fmt.Errorf("interned dimension %s is not a dimension", key)
		}
		if slices.ContainsFunc(all, func(other internedDimension) bool { return other.key == d.key }) {
			return nil, fmt.Errorf("there are two interned dimensions %s", key)
		}
		all = append(all, d)
	}
	return all, nil
}

// compute returns what describes the keys that the metric's rows have.
func (d *internedDimension) compute(ctx context.Context, db *session.Session, sql string, keys map[any]bool) (described [][]any, err error) {
	err = rows(ctx, db, sql, d.columns, func(row []any) (err error) {
		used, ok := keys[row[0]]
		switch {
		case !ok:
			return nil
		case !used:
			return fmt.Errorf("interned dimension %s: key %v is not unique", d.columns[0].name, row[0])
		}
		keys[row[0]] = false
		out := make([]any, len(row))
		for i, v := range row {
			if out[i], err = d.columns[i].dimension(v); err != nil {
				return err
			}
		}
		described = append(described, out)
		return nil
	})
	return described, err
}

// dimension returns a value of the column as one of its type.
func (c column) dimension(value any) (any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		if c.kind == "STRING" || c.kind == anyType {
			return v, nil
		}
	case float64:
		if c.kind == "DOUBLE" || c.kind == anyType {
			return v, nil
		}
	case int64:
		switch {
		case c.kind == "INT64" || c.kind == anyType:
			return v, nil
		case c.kind == "BOOLEAN" && (v == 0 || v == 1):
			return v == 1, nil
		}
	}
	return nil, fmt.Errorf("column %s has the value %v where a %s was expected", c.name, value, c.kind)
}

// value returns a value of the column as a real number, or nil.
func (c column) value(value any) (any, error) {
	switch v := value.(type) {
	case nil, float64:
		return v, nil
	case int64:
		return float64(v), nil
	}
	return nil, fmt.Errorf("column %s has the value %v where a number was expected", c.name, value)
}

// rows runs a query and calls each with the wanted columns of every row: nil, an int64,
// float64 or string. It sets which columns have integers.
func rows(ctx context.Context, db *session.Session, query string, wanted []column, each func([]any) error) error {
	return db.Each(ctx, query, func(q *session.Query) error {
		places := make([]int, len(wanted))
		for i, c := range wanted {
			places[i] = slices.IndexFunc(q.Columns, func(column session.Column) bool { return column.Name == c.name })
			if places[i] < 0 {
				return fmt.Errorf("the query has no column %s", c.name)
			}
		}
		row, seen := make([]any, len(places)), make(session.Kinds, len(places))
		err := q.Each(ctx, func(values []any) error {
			for i, place := range places {
				row[i] = values[place]
			}
			seen.Add(row)
			return each(row)
		})
		for i := range wanted {
			wanted[i].integer = seen.Of(i) == session.Integer
		}
		return err
	})
}

// Summary is what Summarize computes.
type Summary struct {
	bundles  []*computed
	metadata [][2]string // keys and values
}

// message returns the TraceSummary.
func (s *Summary) message() (proto.Message, error) {
	message, err := messageType("TraceSummary")
	if err != nil {
		return nil, err
	}
	summary := node{message.New()}
	for _, c := range s.bundles {
		c.write(summary.add("metric_bundles"))
	}
	for _, m := range s.metadata {
		summary.add("metadata").set("key", m[0]).set("value", m[1])
	}
	return summary.Interface(), nil
}

// write makes a TraceMetricV2Bundle of a bundle.
func (c *computed) write(to node) {
	to.set("bundle_id", c.id)
	specs := to.Mutable(to.field("specs")).List()
	for _, m := range c.metrics {
		specs.Append(protoreflect.ValueOfMessage(m.Message))
	}
	for _, row := range c.table.Rows {
		out := to.add("row")
		for _, v := range row[:c.table.Dimensions] {
			out.add("dimension").setDimension(v)
		}
		for _, v := range row[c.table.Dimensions:] {
			switch v := v.(type) {
			case nil:
				out.add("values").make("null_value")
			case int64:
				out.add("values").set("double_value", float64(v))
			default:
				out.add("values").set("double_value", v)
			}
		}
	}
	for _, described := range c.interned {
		out := to.add("interned_dimension_bundles")
		for _, row := range described {
			values := out.add("interned_dimension_rows")
			values.make("key_dimension_value").setDimension(row[0])
			for _, v := range row[1:] {
				values.add("interned_dimension_values").setDimension(v)
			}
		}
	}
}

// setDimension sets the value of a Dimension.
func (n node) setDimension(value any) {
	switch v := value.(type) {
	case nil:
		n.make("null_value")
	case string:
		n.set("string_value", v)
	case float64:
		n.set("double_value", v)
	case int64:
		n.set("int64_value", v)
	case bool:
		n.set("bool_value", v)
	}
}

// Encode encodes the summary as a TraceSummary.
func (s *Summary) Encode() ([]byte, error) {
	message, err := s.message()
	if err != nil {
		return nil, err
	}
	return proto.Marshal(message)
}

// Prototext varies the width of the space after a field's name on purpose.
var (
	colons = regexp.MustCompile(`(?m)^( *\w+:) +`)
	braces = regexp.MustCompile(`(?m): \{$`)
)

// Text returns the summary as the text of a TraceSummary.
func (s *Summary) Text() ([]byte, error) {
	message, err := s.message()
	if err != nil {
		return nil, err
	}
	text, err := prototext.MarshalOptions{Multiline: true, Indent: "  "}.Marshal(message)
	return braces.ReplaceAll(colons.ReplaceAll(text, []byte("$1 ")), []byte(" {")), err
}

// Table is the rows of a bundle: its dimensions, then the values of its metrics.
type Table struct {
	ID         string
	Columns    []session.Column
	Dimensions int      // number of columns before the values
	Units      []string // of the columns with values, such as TIME_NANOS
	Main       int      // column of the value that comparisons go by
	Rows       [][]any  // int64, float64, string, bool or nil
}

// Labelled returns a table with one more dimension, the first column, which has the same value in all rows.
func (t Table) Labelled(column string, kind session.Kind, value any) Table {
	t.Columns = append([]session.Column{{Name: column, Kind: kind}}, t.Columns...)
	t.Dimensions++
	t.Main++
	rows := make([][]any, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = append([]any{value}, row...)
	}
	t.Rows = rows
	return t
}

// Tables returns the tables of all bundles, without rows. Values are real numbers there, also those that are counts.
func (s *Summarizer) Tables() (tables []Table, err error) {
	bundles, err := s.bundles(&generator{shared: s.queries}, nil)
	if err != nil {
		return nil, err
	}
	for _, b := range bundles {
		t, err := tableOf(b.id, b.metrics)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// tableOf returns the table of the metrics of a bundle.
func tableOf(id string, metrics []node) (Table, error) {
	t := Table{ID: id}
	named, err := dimensions(metrics[0])
	if err != nil {
		return t, err
	}
	for _, c := range named {
		t.Columns = append(t.Columns, session.Column{Name: c.name, Kind: kinds[c.kind]})
	}
	t.Dimensions = len(named)
	for _, m := range metrics {
		t.Columns, t.Units = append(t.Columns, session.Column{Name: m.text("value"), Kind: session.Real}), append(t.Units, m.enum("unit"))
	}
	return t, nil
}

// Tables returns the rows of all bundles.
func (s *Summary) Tables() (tables []Table) {
	for _, c := range s.bundles {
		tables = append(tables, c.table)
	}
	return tables
}

// mainOf returns the index of the metric that was asked for first or, if all are wanted, of the first duration.
func mainOf(metrics []node, asked []string) int {
	for _, id := range asked {
		if i := slices.IndexFunc(metrics, func(m node) bool { return m.text("id") == id }); i >= 0 {
			return i
		}
	}
	return max(0, slices.IndexFunc(metrics, func(m node) bool { return strings.HasPrefix(m.enum("unit"), "TIME_") }))
}

var kinds = map[string]session.Kind{"STRING": session.Text, "INT64": session.Integer, "DOUBLE": session.Real, "BOOLEAN": session.Bool, anyType: session.Variant}
