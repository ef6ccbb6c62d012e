package sort

// stage is the memory of staged events: their payloads, and the pages of the
// queues.
type stage struct {
	arena arena
	pages pagePool
}

// next returns an empty stage for the events that arrive after those of s, and
// gives it the free memory of s.
func (s *stage) next() *stage {
	a := &s.arena
	next := &stage{
		arena: arena{shift: a.shift, first: a.first + uint64(len(a.blocks)), free: a.free},
		pages: pagePool{free: s.pages.free},
	}
	a.free, s.pages.free = nil, nil
	return next
}

// used returns the number of bytes in use.
func (s *stage) used() int64 { return s.arena.bytes + s.pages.bytes }

// held returns the number of bytes in use or free.
func (s *stage) held() int64 { return s.arena.held() + s.pages.held() }

// adopt takes over the memory of a stage that is no longer needed, within the
// budget.
func (s *stage) adopt(old *stage, budget int64) {
	s.arena.free = append(s.arena.free, old.arena.free...)
	s.pages.free = append(s.pages.free, old.pages.free...)
	for len(s.pages.free) > 0 && s.held() > budget {
		s.pages.free = shrink(s.pages.free)
	}
	for len(s.arena.free) > 0 && s.held() > budget {
		s.arena.free = shrink(s.arena.free)
	}
}

// free releases the memory that is not in use.
func (s *stage) free() { s.arena.free, s.pages.free = nil, nil }

// trim drops free pages above the budget if a new block is needed, and free blocks
// if a new page is needed.
func (s *stage) trim(need, budget int64) {
	blocks, pages := len(s.arena.free), len(s.pages.free)
	excess := s.held() + need - budget
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
