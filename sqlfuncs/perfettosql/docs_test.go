package perfettosql_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

func TestDocs(t *testing.T) {
	modules := fstest.MapFS{
		"android/x/y.sql": {Data: []byte(`-- Licence.

-- About
-- f's result, µ.
CREATE PERFETTO FUNCTION f(
  -- An argument.
  a LONG,
  b JOINID(thread.id))
-- What it returns.
RETURNS STRING AS SELECT 'x;' || $a;

CREATE PERFETTO TABLE _t AS SELECT 1;

-- A view.
CREATE OR REPLACE PERFETTO VIEW v(
  -- An id.
  id LONG
) AS SELECT 1 AS id;
-- Rows.
CREATE PERFETTO MACRO m(x Expr) RETURNS TableOrSubquery AS (SELECT $x);`)},
		"top.sql": {Data: []byte(`CREATE PERFETTO TABLE ignored AS SELECT 1;`)},
	}
	for _, test := range []struct {
		modules fs.FS
		sql     string
		want    []string
	}{
		{modules, `SELECT id, package, module, name, qualified_name, object_type, exposed, short_description, return_type, return_description, args, cols
			FROM __intrinsic_stdlib_objects`, []string{
			`0 | 'android' | 'android.x.y' | 'android.x.y' | 'android.x.y' | 'MODULE' | 1 | '' | '' | '' | '[]' | '[]'`,
			`1 | 'android' | 'android.x.y' | '_t' | 'android.x.y._t' | 'TABLE' | 0 | '' | '' | '' | '[]' | '[]'`,
			`2 | 'android' | 'android.x.y' | 'v' | 'android.x.y.v' | 'VIEW' | 1 | 'A view.' | '' | '' | '[]' | '[{"name":"id","type":"LONG","description":"An id."}]'`,
			`3 | 'android' | 'android.x.y' | 'f' | 'android.x.y.f' | 'FUNCTION' | 1 | 'About f''s result, µ.' | 'STRING' | 'What it returns.' | '[{"name":"a","type":"LONG","description":"An argument."},{"name":"b","type":"JOINID(thread.id)","description":""}]' | '[]'`,
			`4 | 'android' | 'android.x.y' | 'm' | 'android.x.y.m' | 'MACRO' | 1 | 'Rows.' | 'TableOrSubquery' | '' | '[{"name":"x","type":"Expr","description":""}]' | '[]'`,
		}},
		{modules, `SELECT summary FROM __intrinsic_stdlib_objects WHERE name = 'v'`, []string{`'Package: android
Module: android.x.y
Name: v
Qualified name: android.x.y.v
Search aliases: android android x y v
Kind: public VIEW
Description: A view.
Columns:
- id (LONG): An id.'`}},
		{nil, `SELECT count(*) FROM __intrinsic_stdlib_objects`, []string{"0"}},
	} {
		got, err := rowsWith(t, perfettosql.Options{Modules: test.modules}, test.sql)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s:\n got %q, %v\nwant %q", test.sql, got, err, test.want)
		}
	}
}

// shared are modules whose objects sessions share, unless changed is set.
type shared struct {
	fs.FS
	objects *perfettosql.Objects
	changed bool
}

func (s *shared) Objects() *perfettosql.Objects {
	if s.changed {
		return nil
	}
	return s.objects
}

func (s *shared) Package(file string) string { return file[:strings.IndexByte(file, '/')] }

// kept is there to the end of the process, as what the sessions of a command share: nothing frees its texts.
var kept *perfettosql.Objects

// TestSharedDocs checks that modules are read once for all sessions, and again once they have changed.
func TestSharedDocs(t *testing.T) {
	files := fstest.MapFS{"a/b.sql": {Data: []byte("CREATE PERFETTO TABLE t AS SELECT 1;")}}
	kept = &perfettosql.Objects{}
	modules := &shared{FS: files, objects: kept}
	check := func(want ...string) {
		t.Helper()
		got, err := rowsWith(t, perfettosql.Options{Modules: modules}, "SELECT name FROM __intrinsic_stdlib_objects")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	check("'a.b'", "'t'")
	files["a/c.sql"] = &fstest.MapFile{}
	check("'a.b'", "'t'")
	modules.changed = true
	check("'a.b'", "'t'", "'a.c'")
}
