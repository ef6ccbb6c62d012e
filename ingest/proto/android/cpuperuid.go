package android

import (
	"fmt"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// cpuPerUID reads the CPU time that each uid used in each CPU cluster.
type cpuPerUID struct {
	*proto.Reader
	seen  map[uidCluster]uint64 // latest values of all sequences, ms
	total tallies[uidCluster]   // growth by group of uids
	kinds tallies[kindCluster]  // growth by kind of uid

	counters *sparseCounters
}

type uidCluster struct{ uid, cluster uint32 }

type kindCluster struct {
	kind    string
	cluster uint32
}

// sequenceTimes are a sequence's latest times, in ms. The first value for a uid and
// cluster is the time since boot; later values are deltas.
type sequenceTimes struct {
	clusters uint32
	times    tallies[uidCluster]
}

var timesOfSequence = proto.NewLocal[sequenceTimes](proto.UntilAnew)

// tallies are sums that keep the order in which their keys first appeared.
type tallies[K comparable] struct {
	keys []K
	sums map[K]uint64
}

// add adds to a sum and returns it.
func (t *tallies[K]) add(key K, n uint64) uint64 {
	if t.sums == nil {
		t.sums = map[K]uint64{}
	}
	sum, known := t.sums[key]
	if !known {
		t.keys = append(t.keys, key)
	}
	t.sums[key] = sum + n
	return sum + n
}

// firstApp is the first app id of apps; Android itself uses lower ones.
const firstApp = 10000

// appID returns a uid without its Android user.
func appID(uid uint32) uint32 { return uid % 100000 }

// isGrouped reports whether a uid is arbitrary and so only counted with others of its
// kind: that of an isolated process or of a group of apps.
func isGrouped(uid uint32) bool {
	id := appID(uid)
	return id >= 50000 && id < 60000 || id >= 90000
}

// groupOf returns the uid that represents a group of uids.
func groupOf(uid uint32) uint32 {
	if isGrouped(uid) {
		return uid - uid%10000
	}
	return uid
}

func cpuPerUIDs(r *proto.Reader) *proto.Module {
	c := &cpuPerUID{Reader: r, seen: map[uidCluster]uint64{}, counters: sparse.Of(r)}
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_CPUPerUIDData},
		Tokenize: func(p *proto.Packet, f *wire.Field) bool {
			c.tokenize(p, f.Bytes())
			return true
		},
		End: c.end,
	}
}

var (
	uidTimes = &model.Blueprint{Classification: "android_cpu_per_uid", Event: model.CounterTrack, Unit: "ms", Dims: []string{"uid", "cluster"},
		NameOf: func(_ *model.Store, dims []model.Dim) string {
			return fmt.Sprintf("CPU for UID %d CL%d", dims[0].Int(), dims[1].Int())
		}}
	kindTimes = &model.Blueprint{Classification: "android_cpu_per_uid_totals", Event: model.CounterTrack, Unit: "ms", Dims: []string{"type", "cluster"},
		NameOf: func(s *model.Store, dims []model.Dim) string {
			return fmt.Sprintf("CPU for %s CL%d", s.Strings.Get(dims[0].String()), dims[1].Int())
		}}
)

func (c *cpuPerUID) uidTrack(key uidCluster) model.TrackID {
	return c.Tracks.Intern(uidTimes, nil, model.IntDim(int64(key.uid)), model.IntDim(int64(key.cluster)))
}

func (c *cpuPerUID) tokenize(p *proto.Packet, data []byte) {
	state := timesOfSequence.Of(p.State)
	if count, ok := wire.Find(data, pb.CpuPerUidData_ClusterCount); ok {
		state.clusters = count.Uint32()
	}
	uids := slices.Collect(message.Numbers(data, pb.CpuPerUidData_UID))
	cluster := uint32(0)
	for ms := range message.Numbers(data, pb.CpuPerUidData_TotalTimeMS) {
		if len(uids) == 0 {
			break
		}
		c.add(state, uidCluster{uint32(uids[0]), cluster}, ms)
		if cluster++; cluster >= state.clusters {
			cluster, uids = 0, uids[1:]
		}
	}
	for _, key := range c.kinds.keys {
		track := c.Tracks.Intern(kindTimes, nil, model.StringDim(c.Store.Strings.Intern(key.kind)), model.IntDim(int64(key.cluster)))
		c.counters.push(p, track, float64(c.kinds.sums[key]))
	}
	for _, key := range c.total.keys {
		if isGrouped(key.uid) {
			c.counters.push(p, c.uidTrack(key), float64(c.total.sums[key]))
		}
	}
	for _, key := range state.times.keys {
		if !isGrouped(key.uid) {
			c.counters.push(p, c.uidTrack(key), float64(state.times.sums[key]))
		}
	}
}

// add adds a value that a sequence reported.
func (c *cpuPerUID) add(state *sequenceTimes, key uidCluster, ms uint64) {
	now := state.times.add(key, ms)
	var growth uint64
	if before, known := c.seen[key]; known && now > before {
		growth = now - before
	}
	c.seen[key] = now
	c.total.add(uidCluster{groupOf(key.uid), key.cluster}, growth)
	kind := "Apps"
	if appID(key.uid) < firstApp {
		kind = "System"
	}
	c.kinds.add(kindCluster{kind, key.cluster}, growth)
}

// end stores how much time each uid used in the whole trace.
func (c *cpuPerUID) end() {
	t := &c.Store.AndroidCPUPerUIDTrack
	for _, key := range c.total.keys {
		row := t.Append()
		t.TrackID.Set(row, c.uidTrack(key))
		t.UID.Set(row, int64(key.uid))
		t.Cluster.Set(row, int64(key.cluster))
		t.TotalCPUMillis.Set(row, int64(c.total.sums[key]))
	}
}
