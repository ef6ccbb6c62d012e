package pprof

import (
	"github.com/tpconvert/tpconvert/internal/perfetto/pprofpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// docURL is Profile.doc_url, which is newer than Perfetto's copy of profile.proto.
const docURL = 15

// lineColumn is Line.column, which is newer, too.
const lineColumn = 3

// factNames are the rows of metadata that say how a profile was recorded and how to show
// it. The times are in nanoseconds, the first one since 1970.
var factNames = map[uint32]string{
	pprofpb.Profile_DropFrames: "pprof_drop_frames", pprofpb.Profile_KeepFrames: "pprof_keep_frames",
	pprofpb.Profile_TimeNanos: "pprof_time_nanos", pprofpb.Profile_DurationNanos: "pprof_duration_nanos",
	pprofpb.Profile_PeriodType: "pprof_period_type", pprofpb.Profile_Period: "pprof_period",
	pprofpb.Profile_Comment: "pprof_comment", pprofpb.Profile_DefaultSampleType: "pprof_default_sample_type",
	docURL: "pprof_doc_url",
}

// periodUnit is the name of the unit of pprof_period, which is part of the period's type.
const periodUnit = "pprof_period_unit"

// fact is a row of metadata: a number or, with text, an index in the string table.
type fact struct {
	name   string
	text   bool
	number int64
}

// readFact adds a fact. It returns false if the field is damaged.
func (p *contents) readFact(f *wire.Field) bool {
	name := factNames[f.Number]
	add := func(name string, text bool, number int64) {
		if number != 0 { // which means none
			p.facts = append(p.facts, fact{name, text, number})
		}
	}
	switch f.Number {
	case pprofpb.Profile_PeriodType:
		if f.Type != wire.Bytes {
			return false
		}
		t, whole := valueTypeOf(f.Bytes())
		add(name, true, max(int64(t.name), 0))
		add(periodUnit, true, max(int64(t.unit), 0))
		return whole
	case pprofpb.Profile_Comment:
		var comments []uint64
		if f.Type == wire.Bytes || f.Type == wire.Varint {
			comments = f.AppendVarints(nil)
		}
		for _, c := range comments {
			add(name, true, int64(c))
		}
		return len(comments) > 0
	}
	if f.Type != wire.Varint {
		return false
	}
	isNumber := f.Number == pprofpb.Profile_TimeNanos || f.Number == pprofpb.Profile_DurationNanos || f.Number == pprofpb.Profile_Period
	add(name, !isNumber, f.Int64())
	return true
}

// storeFacts stores the facts once the texts are known.
func (p *contents) storeFacts() {
	for _, f := range p.facts {
		value := model.IntArg(f.number)
		if f.text {
			value = model.StringArg(p.text(textIndex(f.number), ""))
		}
		if f.name == factNames[pprofpb.Profile_Comment] {
			p.context.AddMetadata(f.name, value)
		} else {
			p.context.SetMetadata(f.name, value)
		}
	}
}
