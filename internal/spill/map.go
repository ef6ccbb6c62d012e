package spill

import (
	"math/bits"
	"math/rand/v2"
)

// Map is a map from numbers to values without pointers. Values of near keys are near each
// other, so that looking up keys in their order, or in that of a heap, reads few pages.
type Map[V any] struct {
	entries *List[entry[V]]
	slots   *List[uint32] // hash table: places plus one, or 0 if free; the length is a power of two, or 0
}

type entry[V any] struct {
	value V // first, because Go pads a struct that ends with an empty field
	key   uint64
}

// NewMap returns an empty map.
func NewMap[V any](s *Space) *Map[V] {
	return &Map[V]{NewList[entry[V]](s), NewList[uint32](s)}
}

// seed prevents crafted traces from slowing down lookups.
var seed = rand.Uint64()

func hash(key uint64) uint64 {
	hi, lo := bits.Mul64(key^seed, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// A group of near keys, those without the lower groupBits, has its slots within the same area,
// which is about a page.
const (
	groupBits = 7
	areaBits  = 10
)

// slot returns the first slot to look for a key.
func (m *Map[V]) slot(key uint64) int {
	area := hash(key>>groupBits) << areaBits
	return int((area | hash(key)&(1<<areaBits-1)) & uint64(m.slots.Len()-1))
}

// find returns the key's place, or the free slot for it.
func (m *Map[V]) find(key uint64) (place, free int) {
	for slot := m.slot(key); ; slot = (slot + 1) & (m.slots.Len() - 1) {
		at := m.slots.Get(slot)
		if at == 0 {
			return -1, slot
		}
		if m.entries.at(int(at-1), false).key == key {
			return int(at - 1), -1
		}
	}
}

// Place returns the key's place, or false. Places count from 0 in the order in which keys were added.
func (m *Map[V]) Place(key uint64) (place int, ok bool) {
	if m.slots.Len() == 0 {
		return 0, false
	}
	place, _ = m.find(key)
	return place, place >= 0
}

// Add sets the value of a key and returns the key's place. It replaces any previous value.
func (m *Map[V]) Add(key uint64, value V) (place int) {
	if 2*(m.entries.Len()+1) > m.slots.Len() {
		m.grow()
	}
	place, free := m.find(key)
	if place >= 0 {
		m.entries.Edit(place).value = value
		return place
	}
	place = m.entries.Append(entry[V]{value, key})
	*m.slots.Edit(free) = uint32(place + 1)
	return place
}

// grow doubles the hash table. It goes through the entries in their order, because near entries
// get near slots.
func (m *Map[V]) grow() {
	n := max(256, 2*m.slots.Len())
	space := m.slots.space
	m.slots.Free()
	m.slots = NewList[uint32](space)
	m.slots.Extend(n)
	for place := range m.entries.Len() {
		slot := m.slot(m.entries.at(place, false).key)
		for m.slots.Get(slot) != 0 {
			slot = (slot + 1) & (n - 1)
		}
		*m.slots.Edit(slot) = uint32(place + 1)
	}
}

// Len returns the number of keys.
func (m *Map[V]) Len() int { return m.entries.Len() }

// Find returns the value of a key, or false.
func (m *Map[V]) Find(key uint64) (value V, ok bool) {
	place, ok := m.Place(key)
	if ok {
		value = m.entries.at(place, false).value
	}
	return value, ok
}

// At returns the key and value at a place.
func (m *Map[V]) At(place int) (key uint64, value V) {
	e := m.entries.Get(place)
	return e.key, e.value
}

// Edit returns the value at a place for the caller to change. The pointer is valid until the next call
// for any container of the space.
func (m *Map[V]) Edit(place int) *V { return &m.entries.Edit(place).value }

// Free removes all keys. The map cannot be used any more.
func (m *Map[V]) Free() {
	m.entries.Free()
	m.slots.Free()
}
