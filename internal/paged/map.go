package paged

// Map is a map from numbers to values without deletion. Values do not move, so
// pointers to them stay valid. The zero Map is empty.
type Map[V any] struct {
	entries List[entry[V]]
	index   Index
}

type entry[V any] struct {
	key   uint64
	value V
}

func (m *Map[V]) keyOf(place int) uint64 { return m.entries.At(place).key }

// Get returns the value of a key, or nil.
func (m *Map[V]) Get(key uint64) *V {
	place, ok := m.index.Find(key, m.keyOf)
	if !ok {
		return nil
	}
	return &m.entries.At(place).value
}

// Add adds a value for a key without one.
func (m *Map[V]) Add(key uint64, value V) *V {
	place := m.entries.Append(entry[V]{key, value})
	m.index.Set(key, place, m.keyOf)
	return &m.entries.At(place).value
}

// Len returns the number of values.
func (m *Map[V]) Len() int { return m.entries.Len() }

// At returns the key and value at a place. Places count from 0 in the order in which values were added.
func (m *Map[V]) At(place int) (key uint64, value *V) {
	e := m.entries.At(place)
	return e.key, &e.value
}
