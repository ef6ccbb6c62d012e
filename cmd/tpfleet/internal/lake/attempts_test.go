package lake

import "testing"

// TestView asks which rows count, and which files a commit may still look for.
func TestView(t *testing.T) {
	const named, other, replaced = "0123456789abcdef-00000001", "0123456789abcdef-00000002", "0123456789abcdef-00000003"
	v := &view{attempts: map[string]bool{named: true, other: true}, changed: map[string]changed{"t_new": {1, other}, "t_forgotten": {1, ""}}}
	for _, c := range []struct {
		trace, attempt string
		want           bool
	}{
		{"t_a", named, true}, {"t_a", replaced, false}, {"t_new", named, false}, {"t_new", other, true}, {"t_forgotten", named, false},
	} {
		if got := v.names(c.trace, c.attempt); got != c.want {
			t.Errorf("%s by %s counts: %t", c.trace, c.attempt, got)
		}
	}
	for file, want := range map[string]string{
		"s3://lake/slice/data/" + named + ".parquet":                                      "",
		"s3://lake/slice/data/" + replaced + ".parquet":                                   replaced,
		"s3://lake/slice/data/" + named + "-2026-11-23.parquet":                           "",
		"s3://lake/slice/data/" + replaced + "-2026-11-23.parquet":                        replaced,
		"s3://lake/slice/data/compact-7g2zq.parquet":                                      "",
		"s3://lake/slice/data/00000-0-2b9d3c1e-6f1a-4a0e-8d3c-5a4f0d0c2b11-00001.parquet": "", // another engine's
	} {
		if got := v.open(file); got != want {
			t.Errorf("%s is of %q, want %q", file, got, want)
		}
	}
}
