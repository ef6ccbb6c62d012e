// Package spill has containers for more values than fit in memory. They share a space: an
// amount of memory, and a temporary file for the pages that were not used lately.
package spill

import (
	"cmp"
	"os"
)

// DefaultMemory is the memory of the zero Space, in bytes.
const DefaultMemory = 128 << 20

// Space is memory for the pages of lists and maps. The zero Space is ready to use. A space and
// its containers have one user at a time.
type Space struct {
	memory int64  // limit in bytes; 0 means DefaultMemory
	dir    string // of the temporary file; "" means the system's directory

	lists   []owner // by number
	members int     // lists that are not nil
	frames  []*frame
	hand    int // the next frame that may be reused
	spare   []*frame
	limit   int // of frames
	full    bool

	file  *os.File
	slots int32   // in the file
	freed []int32 // slots that are not used any more
	err   error
}

// NewSpace returns a space that takes an amount of memory, in bytes, and has its temporary file
// in dir. If either is zero, it is the default.
func NewSpace(memory int64, dir string) *Space { return &Space{memory: memory, dir: dir} }

// A frame holds a page in memory. It has no pointers, which spares the garbage collector a look.
type frame struct {
	data  [frameWords]uint64
	list  int32 // number of the list, or noList
	page  int32 // of the list
	used  bool  // since the hand passed
	dirty bool  // differs from the file
}

// Together with its other fields, a frame takes 4 KiB.
const (
	frameWords = 510
	frameBytes = frameWords * 8
)

const noList = -1

// owner is a list, whose pages the space takes away.
type owner interface {
	// leave forgets the frame of a page and returns the page's slot in the file, or noSlot.
	leave(page int32) *int32
}

const noSlot int32 = -1

// Err returns the first error of the temporary file. After an error, values may be zero.
func (s *Space) Err() error { return s.err }

// Close removes the temporary file.
func (s *Space) Close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
		s.file = nil
	}
}

func (s *Space) join(o owner) int32 {
	s.members++
	for i, had := range s.lists {
		if had == nil {
			s.lists[i] = o
			return int32(i)
		}
	}
	s.lists = append(s.lists, o)
	return int32(len(s.lists) - 1)
}

// frame returns a free frame, with any content, for a page of a list.
func (s *Space) frame(list, page int32) *frame {
	var f *frame
	switch n := len(s.spare); {
	case n > 0:
		f, s.spare = s.spare[n-1], s.spare[:n-1]
	case len(s.frames) < s.most():
		f = new(frame)
		s.frames = append(s.frames, f)
	default:
		s.full = true
		f = s.evict()
	}
	f.list, f.page, f.used, f.dirty = list, page, true, true
	return f
}

// most returns the limit of frames.
func (s *Space) most() int {
	if s.limit == 0 {
		s.limit = int(max(cmp.Or(s.memory, DefaultMemory)/(frameBytes+16), leastFrames))
	}
	return s.limit
}

// leastFrames is the lowest limit, so that the pages of one operation stay in memory together.
const leastFrames = 16

// evict takes a frame from its page: one that was not used since the hand last passed it.
func (s *Space) evict() *frame {
	for {
		f := s.frames[s.hand]
		if s.hand++; s.hand == len(s.frames) {
			s.hand = 0
		}
		if f.used {
			f.used = false
			continue
		}
		slot := s.lists[f.list].leave(f.page)
		if *slot == noSlot {
			*slot, f.dirty = s.slot(), true
		}
		if f.dirty {
			s.write(f, *slot)
		}
		return f
	}
}

// slot returns a free slot of the file.
func (s *Space) slot() int32 {
	if n := len(s.freed); n > 0 {
		slot := s.freed[n-1]
		s.freed = s.freed[:n-1]
		return slot
	}
	s.slots++
	return s.slots - 1
}

func (s *Space) write(f *frame, slot int32) {
	if s.file == nil && s.err == nil {
		file, err := os.CreateTemp(s.dir, "tpconvert-state-*")
		if err != nil {
			s.err = err
			return
		}
		// Unlinking at once, where the system allows it, makes sure that the file is gone
		// however the process ends.
		os.Remove(file.Name())
		s.file = file
	}
	if s.err == nil {
		_, s.err = s.file.WriteAt(f.bytes(), int64(slot)*frameBytes)
	}
}

func (s *Space) read(f *frame, slot int32) {
	f.dirty = false
	if s.err == nil {
		_, s.err = s.file.ReadAt(f.bytes(), int64(slot)*frameBytes)
	}
	if s.err != nil {
		f.data = [frameWords]uint64{}
	}
}

// free gives the frames and slots of a list back.
func (s *Space) free(list int32, frames []*frame, slots []int32) {
	for _, f := range frames {
		if f != nil {
			f.list = noList
			s.spare = append(s.spare, f)
		}
	}
	for _, slot := range slots {
		if slot != noSlot {
			s.freed = append(s.freed, slot)
		}
	}
	s.lists[list] = nil
	if s.members--; s.members == 0 {
		s.Close()
		*s = Space{memory: s.memory, dir: s.dir, err: s.err}
	}
}
