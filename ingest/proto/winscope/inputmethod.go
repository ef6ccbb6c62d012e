package winscope

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/model"
)

var (
	imeClients = kind{"com.android.internal.InputMethodClientsTraceProto", model.StatWinscopeInputmethodClientsParseErrors}
	imeManager = kind{"com.android.internal.InputMethodManagerServiceTraceProto", model.StatWinscopeInputmethodManagerServiceParseErrors}
	imeService = kind{"com.android.internal.InputMethodServiceTraceProto", model.StatWinscopeInputmethodServiceParseErrors}
)

func (d *dumper) inputMethodClients(ts int64, state *proto.State, data []byte) {
	t := &d.Store.InputmethodClients
	row := t.Append()
	t.TS.Set(row, ts)
	t.Base64ProtoID.Set(row, messageID(data))
	d.describe(row, &t.ArgSetID, state, &imeClients, data)
}

func (d *dumper) inputMethodManager(ts int64, state *proto.State, data []byte) {
	t := &d.Store.InputmethodManagerService
	row := t.Append()
	t.TS.Set(row, ts)
	t.Base64ProtoID.Set(row, messageID(data))
	d.describe(row, &t.ArgSetID, state, &imeManager, data)
}

func (d *dumper) inputMethodService(ts int64, state *proto.State, data []byte) {
	t := &d.Store.InputmethodService
	row := t.Append()
	t.TS.Set(row, ts)
	t.Base64ProtoID.Set(row, messageID(data))
	d.describe(row, &t.ArgSetID, state, &imeService, data)
}
