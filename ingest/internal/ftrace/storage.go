package ftrace

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/tpconvert/tpconvert/ingest/internal/linux"
	"github.com/tpconvert/tpconvert/model"
)

// storage is the state of file system and disk events.
type storage struct {
	reading map[fileOffset]int64 // thread that reads
}

type fileOffset struct {
	inode  uint64
	offset int64
}

func (s *storage) init() { s.reading = map[fileOffset]int64{} }

var (
	ufsCommands    = counters("ufs_command_count", "io.ufs.command.count")
	ufsTags        = spans("ufs_command_tag", "io.ufs.command.tag[%03[1]d]", "ufs_tag")
	ufsClock       = counters("ufs_clkgating", "io.ufs.clkgating (OFF:0/REQ_OFF/REQ_ON/ON:3)")
	blockIO        = model.AsyncBlueprint(model.Blueprint{Classification: "block_io", Dims: []string{"block_device"}})
	androidFS      = model.AsyncBlueprint(model.Blueprint{Classification: "android_fs", Name: "android_fs"})
	f2fsStat       = counters("f2fs_iostat", "f2fs_iostat.[%[1]s].%[2]s", "linux_device", "counter_key")
	f2fsLatency    = counters("f2fs_iostat_latency", "f2fs_iostat_latency.[%[1]s].%[2]s", "linux_device", "counter_key")
	f2fsCheckpoint = &model.Blueprint{Classification: "f2fs_write_checkpoint", Dims: []string{"upid"}}
)

var sectorArg = uints("sector")

// A device works on many requests at once. A request keeps its first sector until it is done.

func blockStart(p *Parser, e *Event) {
	track := p.Async.Begin(blockIO, nil, e.Int("sector"), model.IntDim(e.Int("dev")))
	p.Slices.Begin(e.TS, track, 0, p.word("block_io"), p.argsOf(e, sectorArg))
}

func blockDone(p *Parser, e *Event) {
	track := p.Async.End(blockIO, nil, e.Int("sector"), model.IntDim(e.Int("dev")))
	p.Slices.End(e.TS, track, 0, p.word("block_io"), p.argsOf(e, sectorArg))
}

// ufsCommand handles the send and the completion of a command. Older kernels, such as 5.10, tell them apart by a text (send,
// scsi_send, complete, dev_complete), newer ones by a number.
func ufsCommand(p *Parser, e *Event) {
	ended, idle := e.Int("str_t") != 0, e.Int("str_t") == 1
	if text := e.Text("str"); text != nil && !e.Has("str_t") {
		ended = !bytes.Contains(text, []byte("send"))
		idle = ended
	}
	busy := bits.OnesCount32(uint32(e.Uint("doorbell")))
	if busy == 0 && !idle {
		busy = 1
	}
	p.count(e, p.Tracks.Intern(ufsCommands, nil), float64(busy), nil)
	track := on(ufsTags, "tag")(p, e)
	if ended {
		p.Slices.End(e.TS, track, 0, 0, nil)
		return
	}
	name := linux.SCSICommand(e.Int("opcode"))
	if group := e.Int("group_id"); group > 0 {
		name += fmt.Sprintf(" (GID=0x%x)", group)
	}
	p.Slices.Begin(e.TS, track, 0, p.word(name), nil)
}

// ufsClockStates maps the kernel's states OFF, ON, REQ_OFF and REQ_ON to numbers
// that grow from off to on.
var ufsClockStates = [...]float64{0, 3, 1, 2}

func ufsClockGating(p *Parser, e *Event) {
	var value float64
	if state := e.Uint("state"); state < uint64(len(ufsClockStates)) {
		value = ufsClockStates[state]
	}
	p.count(e, p.Tracks.Intern(ufsClock, nil), value, nil)
}

func dataReadStart(p *Parser, e *Event) {
	p.storage.reading[fileOffset{e.Uint("ino"), e.Int("offset")}] = e.TID
	p.Slices.Begin(e.TS, p.Async.Begin(androidFS, nil, e.TID), 0, p.word("android_fs_data_read"), p.list().
		add("file_path", model.StringArg(p.text(e, "pathbuf"))).
		add("offset_start", model.IntArg(e.Int("offset"))).
		add("bytes_read_start", model.IntArg(e.Int("bytes"))))
}

func dataReadEnd(p *Parser, e *Event) {
	at := fileOffset{e.Uint("ino"), e.Int("offset")}
	tid, ok := p.storage.reading[at]
	if !ok {
		return
	}
	delete(p.storage.reading, at)
	p.Slices.End(e.TS, p.Async.End(androidFS, nil, tid), 0, 0, p.list().
		add("offset_end", model.IntArg(at.offset)).
		add("bytes_read_end", model.IntArg(e.Int("bytes"))))
}

// f2fsCounters are the counters of f2fs_iostat and f2fs_iostat_latency, as pairs
// of key and field.
var f2fsCounters = []string{
	"write_app_total", "app_wio", "write_app_direct", "app_dio", "write_app_buffered", "app_bio",
	"write_app_mapped", "app_mio", "write_fs_data", "fs_dio", "write_fs_node", "fs_nio", "write_fs_meta", "fs_mio",
	"write_gc_data", "fs_gc_dio", "write_gc_node", "fs_gc_nio", "write_cp_data", "fs_cp_dio",
	"write_cp_node", "fs_cp_nio", "write_cp_meta", "fs_cp_mio", "read_app_total", "app_rio",
	"read_app_direct", "app_drio", "read_app_buffered", "app_brio", "read_app_mapped", "app_mrio",
	"read_fs_data", "fs_drio", "read_fs_gdata", "fs_gdrio", "read_fs_cdata", "fs_cdrio",
	"read_fs_node", "fs_nrio", "read_fs_meta", "fs_mrio", "other_fs_discard", "fs_discard",
}

var f2fsLatencies = []string{
	"read_data_peak", "d_rd_peak", "read_data_avg", "d_rd_avg", "read_data_cnt", "d_rd_cnt",
	"read_node_peak", "n_rd_peak", "read_node_avg", "n_rd_avg", "read_node_cnt", "n_rd_cnt",
	"read_meta_peak", "m_rd_peak", "read_meta_avg", "m_rd_avg", "read_meta_cnt", "m_rd_cnt",
	"write_sync_data_peak", "d_wr_s_peak", "write_sync_data_avg", "d_wr_s_avg", "write_sync_data_cnt", "d_wr_s_cnt",
	"write_sync_node_peak", "n_wr_s_peak", "write_sync_node_avg", "n_wr_s_avg", "write_sync_node_cnt", "n_wr_s_cnt",
	"write_sync_meta_peak", "m_wr_s_peak", "write_sync_meta_avg", "m_wr_s_avg", "write_sync_meta_cnt", "m_wr_s_cnt",
	"write_async_data_peak", "d_wr_as_peak", "write_async_data_avg", "d_wr_as_avg", "write_async_data_cnt", "d_wr_as_cnt",
	"write_async_node_peak", "n_wr_as_peak", "write_async_node_avg", "n_wr_as_avg", "write_async_node_cnt", "n_wr_as_cnt",
	"write_async_meta_peak", "m_wr_as_peak", "write_async_meta_avg", "m_wr_as_avg", "write_async_meta_cnt", "m_wr_as_cnt",
}

// deviceNumbers formats the major and minor number of a device, which are encoded as in stat(2).
func deviceNumbers(dev uint64) string {
	return fmt.Sprintf("%d:%d", dev>>32&^0xfff|dev>>8&0xfff, dev>>12&0xffffff00|dev&0xff)
}

func f2fsCount(b *model.Blueprint, pairs []string) handler {
	return func(p *Parser, e *Event) {
		device := model.StringDim(p.word(deviceNumbers(e.Uint("dev"))))
		for i := 0; i < len(pairs); i += 2 {
			p.count(e, p.Tracks.Intern(b, nil, device, model.StringDim(p.word(pairs[i]))), e.Float(pairs[i+1]), nil)
		}
	}
}

func f2fsWriteCheckpoint(p *Parser, e *Event) {
	const start, finish = 0, 2
	phase := e.Int("phase")
	if phase != start && phase != finish {
		return
	}
	upid := p.Machine.Process(e.TID)
	track := p.Tracks.Intern(f2fsCheckpoint, &model.TrackOptions{Name: p.word(fmt.Sprintf("f2fs_ckpt %d", e.TID))}, model.IntDim(upid))
	p.Slices.End(e.TS, track, 0, 0, nil)
	if phase == start {
		p.Slices.Begin(e.TS, track, 0, p.word("F2fs Write Checkpoint"), model.ArgFunc(func(set *model.ArgSet) { p.checkpointArgs(e, set) }))
	}
}

func (p *Parser) checkpointArgs(e *Event, set *model.ArgSet) {
	reason, key := e.Int("reason"), p.word("reason_str")
	set.Add(p.word("dev"), model.UintArg(e.Uint("dev")))
	set.Add(p.word("reason_int"), model.IntArg(reason))
	if reason == 0 {
		set.Add(key, model.StringArg(p.word("Unknown")))
	}
	for i, name := range linux.CheckpointReasons {
		if reason>>i&1 != 0 {
			set.AddFlat(key, p.word(model.ArrayKey("reason_str", set.NextIndex(key))), model.StringArg(p.word(name)))
		}
	}
}
