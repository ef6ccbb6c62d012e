package sort

import "encoding/binary"

// maxBlockShift makes arena blocks of 1 MiB. They are smaller if the budget is
// too small for that.
const maxBlockShift = 20

// arena holds payloads in large blocks, in order of arrival. A location is
// blockID<<shift + offset; block ids only grow, so locations are in order of
// arrival. A uvarint with its length precedes each payload. A payload larger
// than a block gets its own block.
type arena struct {
	shift  uint
	blocks []block  // the blocks with ids first, first+1, ...
	first  uint64   // id of blocks[0]
	off    int      // bytes used of the last block
	bytes  int64    // size of all blocks in use
	free   [][]byte // blocks to reuse

	touched byte // result of reading ahead, kept so that it is not optimized away
}

type block struct {
	data []byte // nil once recycled
	live int    // payloads not released yet
}

func (a *arena) blockSize() int { return 1 << a.shift }

// fits reports whether size more bytes fit in the block being filled.
func (a *arena) fits(size int) bool {
	n := len(a.blocks)
	return n > 0 && a.off+size <= len(a.blocks[n-1].data)
}

// alloc returns the n bytes of a new payload, to be filled by the caller.
func (a *arena) alloc(n int) (loc uint64, payload []byte) {
	size := storedSize(n)
	if !a.fits(size) {
		a.grow(size)
	}
	last := len(a.blocks) - 1
	b, from := &a.blocks[last], a.off
	b.live++
	a.off += size
	binary.PutUvarint(b.data[from:], uint64(n))
	return (a.first+uint64(last))<<a.shift + uint64(from), b.data[a.off-n : a.off : a.off]
}

func (a *arena) grow(size int) {
	var data []byte
	switch n := len(a.free); {
	case size > a.blockSize():
		data = make([]byte, size)
	case n > 0:
		data, a.free = a.free[n-1], a.free[:n-1]
	default:
		data = make([]byte, a.blockSize())
	}
	a.blocks = append(a.blocks, block{data: data})
	a.bytes += int64(len(data))
	a.off = 0
}

// payload returns the payload at loc.
func (a *arena) payload(loc uint64) []byte {
	b := a.blocks[loc>>a.shift-a.first].data[loc&(1<<a.shift-1):]
	if n := int(b[0]); n < 0x80 {
		return b[1 : 1+n : 1+n]
	}
	n, head := binary.Uvarint(b)
	end := head + int(n)
	return b[head:end:end]
}

// payloads looks up the payloads of entries. It reads a byte of each first,
// so that the cache misses of shuffled entries overlap.
func (a *arena) payloads(dst [][]byte, entries []entry) {
	blocks, first, shift := a.blocks, a.first, a.shift&63
	var sum byte
	for _, e := range entries {
		sum += blocks[e.loc>>shift-first].data[e.loc&(1<<shift-1)]
	}
	a.touched = sum
	for i, e := range entries {
		dst[i] = a.payload(e.loc)
	}
}

// held returns the size in bytes of all blocks, in use or not.
func (a *arena) held() int64 { return a.bytes + int64(len(a.free))<<a.shift }

// release frees the payload at loc. Releasing the last payload of a block
// recycles the block, unless it is still being filled.
func (a *arena) release(loc uint64) {
	i := int(loc>>a.shift - a.first)
	b := &a.blocks[i]
	b.live--
	if b.live == 0 && (i < len(a.blocks)-1 || len(b.data) > a.blockSize()) {
		a.recycle(b)
		a.dropFront()
	}
}

// reset releases everything.
func (a *arena) reset() {
	for i := range a.blocks {
		a.recycle(&a.blocks[i])
	}
	a.dropFront()
}

func (a *arena) recycle(b *block) {
	if b.data == nil {
		return
	}
	a.bytes -= int64(len(b.data))
	if len(b.data) == a.blockSize() {
		a.free = append(a.free, b.data)
	}
	b.data = nil
}

func (a *arena) dropFront() {
	n := 0
	for n < len(a.blocks) && a.blocks[n].data == nil {
		n++
	}
	a.blocks = a.blocks[n:]
	a.first += uint64(n)
}

// end returns a location above those of all payloads so far, and not above
// those of later ones.
func (a *arena) end() uint64 {
	n := len(a.blocks)
	if n == 0 {
		return a.first << a.shift
	}
	return (a.first+uint64(n-1))<<a.shift + uint64(min(a.off, a.blockSize()))
}

// storedSize returns how many bytes of a block a payload of n bytes takes.
func storedSize(n int) int {
	size := n + 1
	for v := n; v >= 0x80; v >>= 7 {
		size++
	}
	return size
}
