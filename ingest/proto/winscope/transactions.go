package winscope

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/descriptor"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

var (
	commit        = kind{"com.android.internal.TransactionTraceEntry", model.StatWinscopeSfTransactionsParseErrors}
	transaction   = kind{"com.android.internal.TransactionState", model.StatWinscopeSfTransactionsParseErrors}
	layerChange   = kind{"com.android.internal.LayerState", model.StatWinscopeSfTransactionsParseErrors}
	displayChange = kind{"com.android.internal.DisplayState", model.StatWinscopeSfTransactionsParseErrors}
	newLayer      = kind{"com.android.internal.LayerCreationArgs", model.StatWinscopeSfTransactionsParseErrors}
)

// transactions reads the transactions that SurfaceFlinger commits.
type transactions struct {
	dumper
	layerFlags   map[uint64]int64 // ids of sets of flags
	displayFlags map[uint64]int64
}

func newTransactions(r *proto.Reader) *transactions {
	return &transactions{dumper: newDumper(r), layerFlags: map[uint64]int64{}, displayFlags: map[uint64]int64{}}
}

// commit reads a TransactionTraceEntry.
func (t *transactions) commit(ts int64, state *proto.State, data []byte) {
	commits := &t.Store.SurfaceflingerTransactions
	row := commits.Append()
	id := commitID(row)
	commits.TS.Set(row, ts)
	commits.VsyncID.Set(row, message.Int64(data, androidpb.TransactionTraceEntry_VsyncID))
	commits.Base64ProtoID.Set(row, messageID(data))
	t.describe(row, &commits.ArgSetID, state, &commit, data)

	for changes := range message.Messages(data, androidpb.TransactionTraceEntry_Transactions) {
		t.transaction(id, state, changes)
	}
	changed := &t.Store.SurfaceflingerTransaction
	for layer := range message.Messages(data, androidpb.TransactionTraceEntry_AddedLayers) {
		row := t.change(id, "LAYER_ADDED")
		changed.LayerID.Set(row, int64(message.Uint32(layer, androidpb.LayerCreationArgs_LayerID)))
		changed.Base64ProtoID.Set(row, messageID(layer))
		t.describe(row, &changed.ArgSetID, state, &newLayer, layer)
	}
	for layer := range message.Numbers(data, androidpb.TransactionTraceEntry_DestroyedLayers) {
		changed.LayerID.Set(t.change(id, "LAYER_DESTROYED"), int64(uint32(layer)))
	}
	for display := range message.Messages(data, androidpb.TransactionTraceEntry_AddedDisplays) {
		t.display(t.change(id, "DISPLAY_ADDED"), state, display, nil)
	}
	for display := range message.Numbers(data, androidpb.TransactionTraceEntry_RemovedDisplays) {
		changed.DisplayID.Set(t.change(id, "DISPLAY_REMOVED"), int64(uint32(display)))
	}
	for layer := range message.Numbers(data, androidpb.TransactionTraceEntry_DestroyedLayerHandles) {
		changed.LayerID.Set(t.change(id, "LAYER_HANDLE_DESTROYED"), int64(uint32(layer)))
	}
}

// change adds a change to a commit, and returns its row.
func (t *transactions) change(commit commitID, kind string) int64 {
	changes := &t.Store.SurfaceflingerTransaction
	row := changes.Append()
	changes.SnapshotID.Set(row, commit)
	changes.TransactionType.Set(row, t.Store.Strings.Intern(kind))
	return row
}

// transaction reads a TransactionState. Each of its changes is a row.
func (t *transactions) transaction(commit commitID, state *proto.State, data []byte) {
	id := message.Int64(data, androidpb.TransactionState_TransactionID)
	pid, uid := message.Uint32(data, androidpb.TransactionState_PID), message.Uint32(data, androidpb.TransactionState_UID)
	change := func(kind string) int64 {
		row := t.change(commit, kind)
		changes := &t.Store.SurfaceflingerTransaction
		changes.TransactionID.Set(row, id)
		changes.PID.Set(row, int64(pid))
		changes.UID.Set(row, int64(uid))
		return row
	}
	empty := true
	for layer := range message.Messages(data, androidpb.TransactionState_LayerChanges) {
		t.layer(change("LAYER_CHANGED"), state, layer, data)
		empty = false
	}
	for display := range message.Messages(data, androidpb.TransactionState_DisplayChanges) {
		t.display(change("DISPLAY_CHANGED"), state, display, data)
		empty = false
	}
	if empty {
		change("NOOP")
	}
}

// layer reads a LayerState, a part of a transaction.
func (t *transactions) layer(row int64, state *proto.State, data, within []byte) {
	changes := &t.Store.SurfaceflingerTransaction
	changes.LayerID.Set(row, int64(message.Uint32(data, androidpb.LayerState_LayerID)))
	changes.Base64ProtoID.Set(row, messageID(data))
	if what, ok := wire.Find(data, androidpb.LayerState_What); ok {
		changes.FlagsID.Set(row, t.flags(t.layerFlags, what.Uint64(), layerFlags))
	}
	t.storeChange(row, state, &layerChange, data, within)
}

// display reads a DisplayState. within is the transaction that it is a part of, or nil.
func (t *transactions) display(row int64, state *proto.State, data, within []byte) {
	changes := &t.Store.SurfaceflingerTransaction
	changes.DisplayID.Set(row, int64(message.Uint32(data, androidpb.DisplayState_ID)))
	changes.Base64ProtoID.Set(row, messageID(data))
	if what, ok := wire.Find(data, androidpb.DisplayState_What); ok {
		changes.FlagsID.Set(row, t.flags(t.displayFlags, uint64(what.Uint32()), displayFlags))
	}
	t.storeChange(row, state, &displayChange, data, within)
}

// storeChange stores a change as args, and of its transaction what comes into effect with it.
func (t *transactions) storeChange(row int64, state *proto.State, k *kind, data, within []byte) {
	t.add(&t.set, state, k, data, nil)
	if within != nil {
		t.add(&t.set, state, &transaction, within, func(field uint32) bool {
			return field == androidpb.TransactionState_ApplyToken || field == androidpb.TransactionState_TransactionBarriers
		})
	}
	t.store(row, &t.Store.SurfaceflingerTransaction.ArgSetID)
}

// flagSet is a part of the bits of a number, with the enum that names them.
type flagSet struct {
	enum  string
	shift int
	known uint32 // those that Trace Processor knows
}

var (
	layerFlags = []flagSet{
		{"com.android.internal.LayerState.ChangesLsb", 0, ^uint32(0)},
		{"com.android.internal.LayerState.ChangesMsb", 32, 1<<16 - 1},
	}
	displayFlags = []flagSet{{"com.android.internal.DisplayState.Changes", 0, ^uint32(0)}}
)

// flags returns the id of a set of flags, and stores their names if it is new.
func (t *transactions) flags(known map[uint64]int64, what uint64, sets []flagSet) int64 {
	id, ok := known[what]
	if ok {
		return id
	}
	id = int64(len(t.layerFlags) + len(t.displayFlags))
	known[what] = id
	for _, set := range sets {
		t.addFlags(id, t.Types().Enum(set.enum), uint32(what>>set.shift)&set.known)
	}
	return id
}

func (t *transactions) addFlags(id int64, enum *descriptor.EnumType, bits uint32) {
	flags := &t.Store.SurfaceflingerTransactionFlag
	for ; bits != 0; bits &= bits - 1 {
		name := enum.Name(int32(bits & -bits))
		if name == "" {
			continue
		}
		row := flags.Append()
		flags.FlagsID.Set(row, id)
		flags.Flag.Set(row, t.Store.Strings.Intern(name))
	}
}
