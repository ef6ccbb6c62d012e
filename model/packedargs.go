package model

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// PackedArgs are the args of one row as a run of bytes, which costs less to fill
// and to hand on than an ArgSet. No key may be added twice.
//
// An arg is its key (32 bits), kind and flags (32 bits) and value (64 bits),
// then the flat key if that differs (32 bits), then the text if the value is the
// length of one.
type PackedArgs []byte

const (
	packedBytes = 16
	packedFlat  = 1 << 8 // a flag beside the kind
)

// Add adds an arg whose key has no array index.
func (p *PackedArgs) Add(key StringID, v ArgValue) {
	*p = appendArg(*p, key, uint64(v.Kind), v.bits)
}

// AddText adds a text, which it copies.
func (p *PackedArgs) AddText(key StringID, text []byte) {
	*p = append(appendArg(*p, key, uint64(argText), uint64(len(text))), text...)
}

func appendArg(b []byte, key StringID, kind, bits uint64) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(uint32(key))|kind<<32)
	return binary.LittleEndian.AppendUint64(b, bits)
}

// Pack appends the args of the set.
func (s *ArgSet) Pack(b PackedArgs) PackedArgs {
	for i := range s.args {
		a := &s.args[i]
		kind, bits := uint64(a.Value.Kind), a.Value.bits
		var text []byte
		if a.Value.Kind == argText {
			text = spanOf(a.Value).of(s.text)
			bits = uint64(len(text))
		}
		if a.FlatKey == a.Key {
			b = appendArg(b, a.Key, kind, bits)
		} else {
			b = appendArg(b, a.Key, kind|packedFlat, bits)
			b = binary.LittleEndian.AppendUint32(b, uint32(a.FlatKey))
		}
		b = append(b, text...)
	}
	return b
}

// AddArgs adds the args to a set.
func (p PackedArgs) AddArgs(set *ArgSet) {
	for len(p) > 0 {
		var a packedArg
		if a, p = p.next(); a.Value.Kind == argText {
			set.AddText(a.FlatKey, a.Key, a.text)
		} else {
			set.AddFlat(a.FlatKey, a.Key, a.Value)
		}
	}
}

// packedArg is one of PackedArgs.
type packedArg struct {
	Arg
	text []byte
}

// next returns the first arg and those after it.
func (p PackedArgs) next() (a packedArg, rest PackedArgs) {
	head := binary.LittleEndian.Uint64(p)
	a.Key, a.FlatKey = StringID(head), StringID(head)
	a.Value = ArgValue{ArgKind(head >> 32), binary.LittleEndian.Uint64(p[8:])}
	p = p[packedBytes:]
	if head>>32&packedFlat != 0 {
		a.FlatKey = StringID(binary.LittleEndian.Uint32(p))
		p = p[4:]
	}
	if a.Value.Kind == argText {
		a.text, p = p[:a.Value.bits], p[a.Value.bits:]
	}
	return a, p
}

// len is the number of args.
func (p PackedArgs) len() int {
	n := 0
	for i := 0; i < len(p); n++ {
		head, bits := binary.LittleEndian.Uint64(p[i:]), binary.LittleEndian.Uint64(p[i+8:])
		i += packedBytes
		if head>>32&packedFlat != 0 {
			i += 4
		}
		if ArgKind(head>>32) == argText {
			i += int(bits)
		}
	}
	return n
}

// hash is the same in every run, never 0.
func (p PackedArgs) hash() uint64 { return xxh3.Hash(p) | 1 }
