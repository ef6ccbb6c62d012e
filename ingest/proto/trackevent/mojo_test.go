package trackevent

import "testing"

func TestMojoNames(t *testing.T) {
	for symbol, names := range map[string][2]string{
		"a::b::I::M_Sym::IPCStableHash":   {"a::b::I::M", "a.b.I"},
		"a::b::I::M_Sym::IPCStableHash()": {"a::b::I::M", "a.b.I"},
		"Class::Method":                   {"Class::Method", "Class::Method"},
		"":                                {"", ""},
	} {
		if got := [2]string{mojoMethodName(symbol), mojoInterface(symbol)}; got != names {
			t.Errorf("%s: %q", symbol, got)
		}
	}
}
