package traceinfo

import (
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// sessionStates are the names of a tracing session's states.
var sessionStates = [...]string{1: "DISABLED", 2: "CONFIGURED", 3: "STARTED", 4: "DISABLING_WAITING_STOP_ACKS", 5: "CLONED_READ_ONLY"}

const (
	sessionDisabled = 1 // the last state
	sessionCloned   = 5
)

var sessionTracks = &model.Blueprint{Classification: "concurrent_tracing_sessions", Event: model.StateTrack, Dims: []string{"session_id"}}

// concurrentSessions reads the states of other recordings that ran at the same time.
func concurrentSessions(r *proto.Reader) *proto.Module {
	strs := r.Store.Strings
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_ConcurrentSessionEvent},
		Parse: func(e *proto.Event) {
			var state, uid, sources, id int64
			var name string
			for f := wire.Read(e.Data); f.Next(); {
				switch f.Number {
				case pb.ConcurrentSessionEvent_State:
					state = f.Int64()
				case pb.ConcurrentSessionEvent_SessionName:
					name = string(f.Bytes())
				case pb.ConcurrentSessionEvent_SessionID:
					id = f.Int64()
				case pb.ConcurrentSessionEvent_ConsumerUID:
					uid = int64(f.Int32())
				case pb.ConcurrentSessionEvent_NumDataSources:
					sources = int64(f.Uint32())
				}
			}
			if state <= 0 || state >= int64(len(sessionStates)) {
				r.File.LogTime(model.StatConcurrentSessionEventUnknownState, e.TS, model.ArgFunc(func(set *model.ArgSet) {
					set.Add(strs.Intern("state"), model.IntArg(state))
				}))
				return
			}
			if name == "" {
				name = "Session " + strconv.FormatUint(uint64(id), 10)
			}
			if state == sessionCloned { // has the name of the session it was cloned from
				name += " (clone)"
			}
			o := model.TrackOptions{Name: strs.Intern(name)}
			track := r.Tracks.Intern(sessionTracks, &o, model.IntDim(id))
			r.States.Set(e.TS, track, 0, strs.Intern(sessionStates[state]), model.ArgFunc(func(set *model.ArgSet) {
				set.Add(strs.Intern("consumer_uid"), model.IntArg(uid))
				set.Add(strs.Intern("num_data_sources"), model.IntArg(sources))
			}))
			if state == sessionDisabled {
				r.States.Set(e.TS, track, 0, 0, nil)
			}
		},
	}
}
