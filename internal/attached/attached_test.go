package attached

import "testing"

type thing struct{ values Values }

func (t *thing) Values() *Values { return &t.values }

var (
	number = Value[*thing, int]{New: func(*thing) *int { n := 7; return &n }}
	text   Value[*thing, string]
	other  Value[*thing, string]
)

func TestValuesOfThings(t *testing.T) {
	var a, b thing
	if number.Get(&a) != nil {
		t.Error("a value before it was made")
	}
	*number.Of(&a) = 8
	*text.Of(&a) = "a"
	if *number.Of(&a) != 8 || *number.Of(&b) != 7 || *text.Of(&a) != "a" || *other.Of(&a) != "" {
		t.Errorf("%d, %d, %q, %q", *number.Of(&a), *number.Of(&b), *text.Of(&a), *other.Of(&a))
	}
}

func TestClonesShareValuesAndCopiesDoNot(t *testing.T) {
	var a thing
	*text.Of(&a) = "first"
	clone, copied := thing{a.values.Clone()}, thing{a.values.Copy()}
	*text.Of(&a) = "second"
	*number.Of(&a)++
	if *text.Of(&clone) != "second" || *text.Of(&copied) != "first" {
		t.Errorf("clone %q, copy %q", *text.Of(&clone), *text.Of(&copied))
	}
	if number.Get(&clone) != nil {
		t.Error("the clone has a value that was made later")
	}
}
