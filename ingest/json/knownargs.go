package json

import "github.com/tpconvert/tpconvert/model"

// knownArgs gives slices their sets of args. It caches recent ones by the hash of their text, and grows with the number of texts.
type knownArgs struct {
	store *model.Store
	sets  []knownArg
	added int // since it grew
	// asked are the sets whose ids have not come yet, in order, after some whose ids have.
	asked []askedArg
	came  int // of asked
	first int // number of the first of asked
}

// knownArg is a set.
type knownArg struct {
	hash  uint64
	id    model.ArgSetID // None for no args
	asked int            // its number if the id has not come yet, or arrived
}

const arrived = -1

// askedArg is a set whose id has not come yet.
type askedArg struct {
	hash uint64  // 0 if it is not cached
	same []int64 // more slices that have it
}

// Sizes of the cache, powers of two.
const (
	minKnownArgs = 1 << 4
	maxKnownArgs = 1 << 12
)

func newKnownArgs(s *model.Store) *knownArgs {
	return &knownArgs{store: s, sets: make([]knownArg, minKnownArgs)}
}

func (k *knownArgs) at(hash uint64) *knownArg { return &k.sets[hash&uint64(len(k.sets)-1)] }

// reuse gives a slice the set of the text with this hash, if it is known.
func (k *knownArgs) reuse(hash uint64, slice model.SliceID) bool {
	known := k.at(hash)
	switch {
	case known.hash != hash:
		return false
	case known.asked != arrived:
		asked := &k.asked[known.asked-k.first]
		asked.same = append(asked.same, int64(slice))
	case known.id != model.None:
		k.store.Slice.ArgSetID.Set(int64(slice), known.id)
	}
	return true
}

// add gives a slice a set. Others with a text of this hash reuse it, unless the hash is 0.
func (k *knownArgs) add(hash uint64, slice model.SliceID, set *model.ArgSet) {
	if hash != 0 {
		if k.added == len(k.sets) && k.added < maxKnownArgs {
			k.sets, k.added = make([]knownArg, 4*len(k.sets)), 0
		}
		k.added++
		*k.at(hash) = knownArg{hash, model.None, arrived}
	}
	if set.Len() == 0 {
		return
	}
	if hash != 0 {
		k.at(hash).asked = k.first + len(k.asked)
	}
	k.asked = append(k.asked, askedArg{hash: hash})
	k.store.SetArgs(k, int64(slice), set)
}

// Set implements model.ArgTarget. Ids come in the order in which they were asked for.
func (k *knownArgs) Set(slice int64, id model.ArgSetID) {
	column := &k.store.Slice.ArgSetID
	column.Set(slice, id)
	asked := &k.asked[k.came]
	for _, slice := range asked.same {
		column.Set(slice, id)
	}
	if known := k.at(asked.hash); known.asked == k.first+k.came {
		known.id, known.asked = id, arrived
	}
	asked.same = nil
	if k.came++; 2*k.came > len(k.asked) {
		k.asked = k.asked[:copy(k.asked, k.asked[k.came:])]
		k.first, k.came = k.first+k.came, 0
	}
}
