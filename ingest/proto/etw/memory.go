package etw

import (
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/model"
)

var pageCounts = &model.Blueprint{Classification: "etw_meminfo", Event: model.CounterTrack, Unit: "pages",
	Dims: []string{"counter_type"}, NameOf: model.NameOf("%s Page Count")}

// pageLists are the fields of MemInfoEtwEvent that hold one count.
var pageLists = [...]struct {
	field uint32
	name  string
}{
	{pb.MemInfoEtwEvent_ZeroPageCount, "Zero"},
	{pb.MemInfoEtwEvent_FreePageCount, "Free"},
	{pb.MemInfoEtwEvent_ModifiedPageCount, "Modified"},
	{pb.MemInfoEtwEvent_ModifiedNoWritePageCount, "ModifiedNoWrite"},
	{pb.MemInfoEtwEvent_BadPageCount, "Bad"},
	{pb.MemInfoEtwEvent_ModifiedPageCountPageFile, "ModifiedPageFile"},
	{pb.MemInfoEtwEvent_PagedPoolPageCount, "PagedPool"},
	{pb.MemInfoEtwEvent_NonPagedPoolPageCount, "NonPagedPool"},
	{pb.MemInfoEtwEvent_MdlPageCount, "Mdl"},
	{pb.MemInfoEtwEvent_CommitPageCount, "Commit"},
}

// memory adds the numbers of pages in each list of the system. A count that is missing is 0.
func (w *windows) memory(ts int64, data []byte) {
	push := func(list string, pages uint64) {
		w.Counters.Push(ts, float64(pages), w.Tracks.Intern(pageCounts, nil, model.StringDim(w.word(list))))
	}
	byPriority := func(field uint32, list string) {
		priority := 0
		for pages := range message.Numbers(data, field) {
			push(list+" Pri-"+strconv.Itoa(priority), pages)
			priority++
		}
	}
	for _, l := range pageLists {
		push(l.name, message.Uint64(data, l.field))
	}
	byPriority(pb.MemInfoEtwEvent_StandbyPageCounts, "Standby")
	byPriority(pb.MemInfoEtwEvent_RepurposedPageCounts, "Repurposed")
}
