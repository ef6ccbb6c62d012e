package sort

// stage is the memory of staged events: their payloads, and the pages of the
// queues.
type stage struct {
	arena arena
	pages pagePool
}

// next returns an empty stage for the events that arrive after those of s.
func (s *stage) next() *stage {
	a := &s.arena
	return &stage{arena: arena{shift: a.shift, first: a.first + uint64(len(a.blocks))}}
}

// used is the size in bytes of all that is in use.
func (s *stage) used() int64 { return s.arena.bytes + s.pages.bytes }

// adopt takes over the free memory of a stage that is no longer needed.
func (s *stage) adopt(old *stage) {
	s.arena.free = append(s.arena.free, old.arena.free...)
	s.pages.free = append(s.pages.free, old.pages.free...)
}

// trim drops free pages if a new block is needed, and the reverse, as far as
// they exceed the budget.
func (s *stage) trim(need, budget int64) {
	blocks, pages := len(s.arena.free), len(s.pages.free)
	excess := s.arena.held() + s.pages.held() + need - budget
	for ; blocks == 0 && len(s.pages.free) > 0 && excess > 0; excess -= pageBytes {
		s.pages.free = shrink(s.pages.free)
	}
	for ; pages == 0 && len(s.arena.free) > 0 && excess > 0; excess -= int64(s.arena.blockSize()) {
		s.arena.free = shrink(s.arena.free)
	}
}

// shrink removes the last element.
func shrink[T any](list []T) []T {
	n := len(list) - 1
	clear(list[n:])
	return list[:n]
}
