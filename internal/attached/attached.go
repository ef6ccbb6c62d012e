// Package attached lets packages keep values with things that do not know them, such as a machine or a packet sequence, and
// have them in common with each other.
package attached

import (
	"reflect"
	"slices"
)

// Values are the values kept with one thing. The zero Values are empty.
type Values struct {
	kept []keptValue
}

type keptValue struct {
	key   any // the *Value
	value any // a pointer
}

// Keeper is a thing that values are kept with.
type Keeper interface{ Values() *Values }

// Value is a value that is kept with each of several things. It is a variable in a package, which is its key.
type Value[K Keeper, T any] struct {
	New func(K) *T // makes the value when it is first asked for; nil makes a zero T
}

// Of returns the value kept with a thing.
func (v *Value[K, T]) Of(with K) *T {
	if t := v.Get(with); t != nil {
		return t
	}
	t := new(T)
	if v.New != nil {
		t = v.New(with)
	}
	values := with.Values()
	values.kept = append(values.kept, keptValue{v, t})
	return t
}

// Get is Of, but returns nil while there is no value.
func (v *Value[K, T]) Get(with K) *T {
	for _, k := range with.Values().kept {
		if k.key == any(v) {
			return k.value.(*T)
		}
	}
	return nil
}

// Clone returns the same values, to which others can be added.
func (v *Values) Clone() Values { return Values{slices.Clone(v.kept)} }

// Copy returns copies of the values.
func (v *Values) Copy() Values {
	copied := v.Clone()
	for i, k := range copied.kept {
		value := reflect.New(reflect.TypeOf(k.value).Elem())
		value.Elem().Set(reflect.ValueOf(k.value).Elem())
		copied.kept[i].value = value.Interface()
	}
	return copied
}
