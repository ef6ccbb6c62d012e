package rocpd

import (
	"fmt"
	"path"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/gpuwork"
	"github.com/tpconvert/tpconvert/model"
)

// names are what the ids in a process's tables stand for.
type names struct {
	strings   gpuwork.Labels
	processes map[int64]int64 // pids
	threads   map[int64]model.UTID
	agents    map[int64]agent
	labels    gpuwork.Labels // of agents
	streams   gpuwork.Labels
	queues    gpuwork.Labels
	kernels   gpuwork.Labels
	counters  map[int64]counter
	tracks    map[int64]track
}

// agent is a CPU or GPU.
type agent struct {
	gpu bool
	id  model.UGPU
}

type counter struct {
	name, unit model.StringID
	agent      int64
}

type track struct {
	name model.StringID
	utid model.UTID // model.None if it belongs to none
}

// facts reads the tables that others refer to.
func (r *reader) facts() (*names, error) {
	n := &names{strings: gpuwork.Labels{}, processes: map[int64]int64{}, threads: map[int64]model.UTID{}, agents: map[int64]agent{}, labels: gpuwork.Labels{},
		streams: gpuwork.Labels{}, queues: gpuwork.Labels{}, kernels: gpuwork.Labels{}, counters: map[int64]counter{}, tracks: map[int64]track{}}
	m, words := r.In.Machine, r.In.Store.Strings
	var failed error
	var e gpuwork.Event
	// each calls f with the id of each row.
	each := func(name string, f func(id int64)) {
		t := gpuwork.NewTable(r.In.Store, r.table(name), func(string) gpuwork.Labels { return nil })
		rows := t.Rows()
		for rows.Next() {
			e.Of(t, &rows.Row)
			f(e.IntOr("id", rows.ID))
		}
		if failed == nil {
			failed = rows.Err
		}
	}
	text := func(column string) model.StringID { return words.InternBytes(e.Text(column)) }
	each("rocpd_string", func(id int64) { n.strings[id] = text("string") })
	each("rocpd_metadata", func(int64) {
		r.In.File.AddDynamicMetadata("rocpd."+string(e.Text("tag")), model.StringArg(text("value")))
	})
	each("rocpd_info_node", func(int64) {
		for _, column := range []string{"machine_id", "system_name", "hostname", "release", "version", "hardware_name", "domain_name"} {
			if len(e.Text(column)) > 0 {
				r.In.File.AddDynamicMetadata("rocpd.node."+column, model.StringArg(text(column)))
			}
		}
	})
	each("rocpd_info_process", func(id int64) {
		pid := e.IntOr("pid", id)
		n.processes[id] = pid
		command := string(e.Text("command"))
		if program, _, _ := strings.Cut(command, " "); program != "" {
			m.SetProcessName(m.Process(pid), words.Intern(path.Base(program)), model.ProcessNameSystem)
			m.SetCmdline(m.Process(pid), words.Intern(command))
		}
	})
	each("rocpd_info_thread", func(id int64) {
		utid := m.ThreadOf(e.IntOr("tid", id), n.processes[e.IntOr("pid", 0)])
		n.threads[id] = utid
		if len(e.Text("name")) > 0 {
			m.SetThreadName(utid, text("name"), model.ThreadNameSystem)
		}
	})
	each("rocpd_info_agent", func(id int64) {
		if string(e.Text("type")) != "GPU" {
			n.agents[id], n.labels[id] = agent{}, words.Intern(fmt.Sprintf("CPU %d", e.IntOr("type_index", id)))
			return
		}
		number := e.IntOr("type_index", id)
		t, ugpu := &r.In.Store.Tables.GPU, m.GPU(number)
		row := int64(ugpu)
		t.Name.Set(row, text("product_name"))
		t.Vendor.Set(row, text("vendor_name"))
		t.Model.Set(row, text("model_name"))
		t.Architecture.Set(row, text("name"))
		n.agents[id], n.labels[id] = agent{true, ugpu}, words.Intern(fmt.Sprintf("GPU %d", number))
	})
	each("rocpd_info_stream", func(id int64) { n.streams[id] = text("name") })
	each("rocpd_info_queue", func(id int64) { n.queues[id] = text("name") })
	each("rocpd_info_kernel_symbol", func(id int64) {
		if n.kernels[id] = text("display_name"); len(e.Text("display_name")) == 0 {
			n.kernels[id] = text("kernel_name")
		}
	})
	each("rocpd_info_pmc", func(id int64) {
		c := counter{name: text("name"), agent: e.IntOr("agent_id", model.None)}
		if len(e.Text("units")) > 0 {
			c.unit = text("units")
		}
		n.counters[id] = c
	})
	each("rocpd_track", func(id int64) {
		t := track{n.strings[e.IntOr("name_id", 0)], model.None}
		if utid, ok := n.threads[e.IntOr("tid", model.None)]; ok {
			t.utid = utid
		}
		n.tracks[id] = t
	})
	return n, failed
}

// labelsOf returns what the values of a column stand for, or nil.
func (n *names) labelsOf(column string) gpuwork.Labels {
	switch {
	case strings.HasSuffix(column, "name_id"):
		return n.strings
	case strings.HasSuffix(column, "agent_id"):
		return n.labels
	case column == "queue_id":
		return n.queues
	}
	return nil
}
