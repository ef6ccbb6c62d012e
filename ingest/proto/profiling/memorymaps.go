package profiling

import (
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// mapsReader reads the memory maps of processes, taken from /proc/PID/smaps.
type mapsReader struct{ *proto.Reader }

func memoryMaps(r *proto.Reader) *proto.Module {
	m := &mapsReader{r}
	return &proto.Module{Fields: []uint32{pb.TracePacket_SmapsPacket}, Parse: m.parse}
}

func (m *mapsReader) parse(e *proto.Event) {
	upid := m.Machine.Process(int64(message.Uint32(e.Data, pb.SmapsPacket_PID)))
	if packed, ok := wire.Find(e.Data, pb.SmapsPacket_PackedEntries); ok {
		m.packed(e.TS, upid, packed.Bytes())
		return
	}
	for entry := range message.Messages(e.Data, pb.SmapsPacket_Entries) {
		m.entry(e.TS, upid, entry)
	}
}

// add adds a row for a mapping, without sizes.
func (m *mapsReader) add(ts int64, upid model.UPID, path string) int64 {
	const deleted = " (deleted)" // the kernel's mark
	t := &m.Store.ProfilerSmaps
	row := t.Append()
	t.UPID.Set(row, upid)
	t.TS.Set(row, ts)
	t.Path.Set(row, m.Store.Strings.Intern(path))
	t.PathTrimmed.Set(row, m.Store.Strings.Intern(strings.TrimSuffix(path, deleted)))
	t.IsDeleted.Set(row, strings.HasSuffix(path, deleted))
	t.AggregateCount.Set(row, 1)
	// What a packet does not have is 0, as in Trace Processor.
	for _, c := range []*table.Int64{&t.SizeKB, &t.PrivateDirtyKB, &t.SwapKB, &t.StartAddress, &t.ModuleTimestamp, &t.ProtectionFlags,
		&t.PrivateCleanResidentKB, &t.SharedDirtyResidentKB, &t.SharedCleanResidentKB, &t.LockedKB, &t.ProportionalResidentKB,
		&t.RSSKB, &t.AnonymousKB, &t.PSSDirtyKB, &t.SwapPSSKB} {
		c.Set(row, 0)
	}
	return row
}

func (m *mapsReader) entry(ts int64, upid model.UPID, data []byte) {
	row := m.add(ts, upid, string(message.Bytes(data, pb.SmapsEntry_Path)))
	t := &m.Store.ProfilerSmaps
	text := func(to *table.String, field uint32) {
		to.Set(row, m.TextField(data, field))
	}
	text(&t.FileName, pb.SmapsEntry_FileName)
	text(&t.ModuleDebugID, pb.SmapsEntry_ModuleDebugid)
	text(&t.ModuleDebugPath, pb.SmapsEntry_ModuleDebugPath)
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.SmapsEntry_SizeKB:
			t.SizeKB.Set(row, f.Int64())
		case pb.SmapsEntry_PrivateDirtyKB:
			t.PrivateDirtyKB.Set(row, f.Int64())
		case pb.SmapsEntry_SwapKB:
			t.SwapKB.Set(row, f.Int64())
		case pb.SmapsEntry_StartAddress:
			t.StartAddress.Set(row, f.Int64())
		case pb.SmapsEntry_ModuleTimestamp:
			t.ModuleTimestamp.Set(row, f.Int64())
		case pb.SmapsEntry_ProtectionFlags:
			t.ProtectionFlags.Set(row, int64(f.Uint32()))
		case pb.SmapsEntry_PrivateCleanResidentKB:
			t.PrivateCleanResidentKB.Set(row, f.Int64())
		case pb.SmapsEntry_SharedDirtyResidentKB:
			t.SharedDirtyResidentKB.Set(row, f.Int64())
		case pb.SmapsEntry_SharedCleanResidentKB:
			t.SharedCleanResidentKB.Set(row, f.Int64())
		case pb.SmapsEntry_LockedKB:
			t.LockedKB.Set(row, f.Int64())
		case pb.SmapsEntry_ProportionalResidentKB:
			t.ProportionalResidentKB.Set(row, f.Int64())
		}
	}
}

// packed reads PackedSmaps, which has a list of numbers for each column. Either mappings
// with the same path are added up, or each refers to its path by index.
func (m *mapsReader) packed(ts int64, upid model.UPID, data []byte) {
	t := &m.Store.ProfilerSmaps
	lists := []struct {
		field uint32
		to    *table.Int64
	}{
		{pb.PackedSmaps_AggregateCount, &t.AggregateCount},
		{pb.PackedSmaps_SizeKB, &t.SizeKB},
		{pb.PackedSmaps_RSSKB, &t.RSSKB},
		{pb.PackedSmaps_AnonymousKB, &t.AnonymousKB},
		{pb.PackedSmaps_SwapKB, &t.SwapKB},
		{pb.PackedSmaps_SharedCleanKB, &t.SharedCleanResidentKB},
		{pb.PackedSmaps_SharedDirtyKB, &t.SharedDirtyResidentKB},
		{pb.PackedSmaps_PrivateCleanKB, &t.PrivateCleanResidentKB},
		{pb.PackedSmaps_PrivateDirtyKB, &t.PrivateDirtyKB},
		{pb.PackedSmaps_LockedKB, &t.LockedKB},
		{pb.PackedSmaps_PssKB, &t.ProportionalResidentKB},
		{pb.PackedSmaps_PssDirtyKB, &t.PSSDirtyKB},
		{pb.PackedSmaps_SwapPssKB, &t.SwapPSSKB},
	}
	var paths []string
	for path := range message.Messages(data, pb.PackedSmaps_StringTable) {
		paths = append(paths, string(path))
	}
	numbers := func(field uint32) (list []uint64) {
		for v := range message.Numbers(data, field) {
			list = append(list, v)
		}
		return list
	}
	names, aggregated := numbers(pb.PackedSmaps_NameID), message.Has(data, pb.PackedSmaps_AggregateCount)
	rows := len(names)
	if aggregated {
		rows = len(paths)
	}
	columns := make([][]uint64, len(lists))
	uneven := aggregated && len(names) > 0
	for i, list := range lists {
		columns[i] = numbers(list.field)
		if n := len(columns[i]); n > 0 {
			uneven = uneven || n != rows
			rows = min(rows, n)
		}
	}
	for i := range rows {
		name := uint64(i)
		if !aggregated {
			name = names[i]
		}
		if name >= uint64(len(paths)) {
			uneven = true
			break
		}
		row := m.add(ts, upid, paths[name])
		for c, list := range lists {
			if len(columns[c]) > 0 {
				list.to.Set(row, int64(columns[c][i]))
			}
		}
	}
	if uneven {
		m.File.Count(model.StatSmapsParserErrors)
	}
}
