package json

import (
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/model"
)

var statVizTracerOverflow = model.NewStat(1061, model.StatInfo{
	Name: "viztracer_overflow", Severity: model.DataLoss, Source: model.FromTrace, Effect: model.Lost, Gap: true,
	Description: "Traces of VizTracer whose buffer was full, so that the earliest events are missing.",
})

// statistics adds the losses that Trace Processor had counted when it exported the trace, the member trace_processor_stats of metadata
// (SetStats in its export_json.cc).
func (t *tokenizer) statistics(raw []byte) {
	l := jsonlex.Lexer{Buf: raw}
	_ = l.Members(func(key []byte, v jsonlex.Value) {
		name := string(key)
		if v.Kind != jsonlex.Array {
			t.statistic(name, model.None, v)
			return
		}
		index := int64(-1)
		elements := jsonlex.Lexer{Buf: v.Raw}
		_ = elements.Elements(func(v jsonlex.Value) {
			index++
			if v.Kind != jsonlex.Object {
				t.statistic(name, index, v)
				return
			}
			members := jsonlex.Lexer{Buf: v.Raw} // of traced_buf
			_ = members.Members(func(key []byte, v jsonlex.Value) { t.statistic(name+"_"+string(key), index, v) })
		})
	})
}

func (t *tokenizer) statistic(name string, index int64, v jsonlex.Value) {
	stat, known := model.StatNamed(name)
	if known && v.Kind == jsonlex.Integer && v.Int > 0 && stat.Indexed() == (index != model.None) && stat.Effect() >= model.Damaged {
		t.in.File.Add(stat, index, v.Int)
	}
}
