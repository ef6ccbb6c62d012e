package paged

// Map is a map from numbers to values. Values only move in Delete, so pointers to
// them stay valid until then. The zero Map is empty.
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

// Delete removes the value of a key, if any. The value that was added last takes its place.
func (m *Map[V]) Delete(key uint64) {
	place, ok := m.index.Find(key, m.keyOf)
	if !ok {
		return
	}
	m.index.Delete(key, m.keyOf)
	last := m.entries.Len() - 1
	if place != last {
		moved := m.entries.At(last)
		m.index.Set(moved.key, place, m.keyOf)
		*m.entries.At(place) = *moved
	}
	m.entries.Drop()
}

// Len returns the number of values.
func (m *Map[V]) Len() int { return m.entries.Len() }

// At returns the key and value at a place. Places count from 0 in the order in which values were added.
func (m *Map[V]) At(place int) (key uint64, value *V) {
	e := m.entries.At(place)
	return e.key, &e.value
}
