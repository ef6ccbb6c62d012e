package perfettosql

import "strings"

const (
	graphScan            = "__intrinsic_graph_scan"
	graphAggregatingScan = "__intrinsic_graph_aggregating_scan"

	stepTable = "_step" // $table in a scan's query
)

// scan translates a scan of a graph: rows move along the edges, and a query makes the rows of the next nodes from those that
// have arrived. In an aggregating scan, the query gets the rows of a node only once all of them have arrived: it runs for the
// nodes that are furthest from the end of the graph, then for nearer ones. The arguments are the graph, the first rows, and
// the text of the query; the further columns follow.
func (p *parser) scan(aggregating bool, args []expr, t token) pieces {
	if len(args) != 4 || args[0].pointer == "" || args[1].pointer == "" || args[2].constant != text || args[3].constant != text {
		p.fail(t, "%s: want a graph, first rows, a query and columns", t.text)
	}
	step := p.step(args[2].raw, t)
	out := cat("(WITH RECURSIVE _graph AS ", args[0].sql, ", _first AS ", args[1].sql,
		// The rows have the types of the first rows and of the query's. In a common table, a UNION at the top would have those of the
		// first rows.
		", _typed AS (SELECT * FROM (SELECT * FROM _first WHERE false UNION ALL (WITH "+stepTable+" AS (SELECT * FROM _first WHERE false) SELECT * FROM (", step, ") LIMIT 0))), ")
	if !aggregating {
		return cat(out, "_scan AS (SELECT * FROM _typed UNION ALL SELECT * FROM _first",
			" UNION ALL (WITH "+stepTable+" AS (SELECT _scan.* REPLACE (dest_node_id AS id) FROM _scan JOIN _graph ON source_node_id = id) ", step, "))",
			" FROM _scan)")
	}
	// _kind is 0 for a result, 1 for a row that waits at depth _at, and 2 for the row that counts the levels.
	return cat(out, strings.Join([]string{
		"_depths AS MATERIALIZED (FROM _scan_depths('_graph', '_first')),",
		"_edges AS MATERIALIZED (SELECT source_node_id AS _source, dest_node_id AS _dest, _depth FROM _graph JOIN _depths ON _node = dest_node_id),",
		"_sent AS MATERIALIZED (SELECT _depth, _first.* REPLACE (_dest AS id) FROM _first JOIN _edges ON _source = id),",
		"_scan AS (SELECT (SELECT max(_depth) FROM _sent) AS _level, 2 AS _kind, NULL::BIGINT AS _at, _typed.* FROM (SELECT 1) LEFT JOIN _typed ON true",
		"UNION ALL (WITH", stepTable, "AS (SELECT _scan.* EXCLUDE (_level, _kind, _at) FROM _scan WHERE _kind = 1 AND _at = _level",
		"UNION ALL SELECT * EXCLUDE (_depth) FROM _sent WHERE _depth = (SELECT first(_level) FROM _scan)),",
		"_result AS MATERIALIZED (",
	}, " "), step, strings.Join([]string{
		"), _next AS (SELECT _level - 1 AS _level FROM _scan WHERE _kind = 2)",
		"SELECT _level, 0, NULL, _result.* FROM _result, _next",
		"UNION ALL SELECT _level, 1, _depth, _result.* REPLACE (_dest AS id) FROM _next, _result JOIN _edges ON _source = id",
		"UNION ALL SELECT * REPLACE (_level - 1 AS _level) FROM _scan WHERE _level >= 0 AND (_kind = 2 OR _kind = 1 AND _at < _level)))",
		"FROM _first UNION ALL SELECT * EXCLUDE (_level, _kind, _at) FROM _scan WHERE _kind = 0)",
	}, " "))
}

// step translates the query of a scan, in which $table is the table of rows that have arrived.
func (p *parser) step(sql string, t token) pieces {
	tokens, err := tokenize("SELECT * FROM " + sql)
	if err != nil {
		p.fail(t, "%s: %v", t.text, err)
	}
	for i := range tokens {
		if tokens[i].kind == variable && strings.EqualFold(tokens[i].text, "$table") {
			tokens[i].kind, tokens[i].text = word, stepTable
		}
		tokens[i].pos, tokens[i].end = t.pos, t.pos
	}
	outer, at, tables := p.tokens, p.at, p.tables
	defer func() { p.tokens, p.at, p.tables = outer, at, tables }()
	p.tokens, p.at = tokens, 0
	p.tables = &commonTable{name: stepTable, fields: func() []field { return nil }, next: tables}
	out := p.query()
	if rest := p.peek(); rest.kind != end {
		p.fail(t, "%s: syntax error near %q", t.text, rest.text)
	}
	return out
}
