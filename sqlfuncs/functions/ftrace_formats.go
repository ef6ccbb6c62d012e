package functions

import (
	"strings"
	"sync"
)

// ftracePiece is a text, or an argument with the text before it. An argument that is missing is left out.
type ftracePiece struct {
	text, key string
	shown     string // the key that is shown
	style     string
}

// ftraceFormats has the formats of events that do more than list their arguments.
var ftraceFormats = sync.OnceValue(func() map[string][]ftracePiece { return parseFormats(ftraceFormatTexts) })

var ftraceFormatTexts = map[string]string{
	"sched_switch": "{=prev_comm}{=prev_pid}{=prev_prio}{=prev_state:task_state} ==>{=next_comm}{=next_pid}{=next_prio}",
	"sched_wakeup": "{=comm}{=pid}{=prio}{=target_cpu:decimal3}",

	"sched_blocked_reason": "{=pid}{iowait=io_wait}{=caller:function}",
	"clock_set_rate":       " {name}{=state}{=cpu_id}",
	"clk_set_rate":         " {name} {rate}",
	"clock_enable":         "{name}{=state}{=cpu_id}",
	"clock_disable":        "{name}{=state}{=cpu_id}",

	"binder_transaction": " transaction={debug_id:unsigned32} dest_node={target_node:unsigned32} dest_proc={to_proc}" +
		" dest_thread={to_thread} reply={reply} flags=0x{flags:hex} code=0x{code:hex}",
	"binder_transaction_alloc_buf": " transaction={debug_id:unsigned32}{=data_size}{=offsets_size}",
	"binder_transaction_received":  " transaction={debug_id:unsigned32}",

	"mm_filemap_add_to_page_cache": " dev {s_dev:major}:{s_dev:minor} ino {i_ino:hex} page=0000000000000000 pfn={pfn} ofs={index:page}",
	"print":                        " {buf:line}",

	"workqueue_activate_work": " work struct {work:hex}",
	"workqueue_execute_start": " work struct {work:hex}: function {function:function}",
	"workqueue_execute_end":   " work struct {work:hex}",
	"workqueue_queue_work":    " work struct={work:hex}{=function:function}{=workqueue:hex}{req_cpu}{cpu}",

	"irq_handler_entry": "{=irq}{=name}",
	"irq_handler_exit":  "{=irq} ret={ret:handled}",
	"softirq_entry":     "{=vec} [action={vec:softirq}]",
	"softirq_exit":      "{=vec} [action={vec:softirq}]",

	"tracing_mark_write":         "{trace_begin:begin}|{pid}|{trace_name}",
	"dpu_tracing_mark_write":     "{type:character}|{pid}|{name}|{value}",
	"g2d_tracing_mark_write":     "{type:character}|{pid}|{name}|{value}",
	"panel_write_generic":        "{type:character}|{pid}|{name}|{value}",
	"samsung_tracing_mark_write": "{trace_type:character}|{pid}|{trace_name}|{value}",

	"cgroup_attach_task":   "{=dst_root}{=dst_id}{cgroup=cname}{=dst_level}{=dst_path}{=pid}{=comm}",
	"hrtimer_expire_entry": "{=function:function}",

	"i2c_read":   " i2c-{adapter_nr} #{msg_nr}{a=addr:hex3}{f=flags:hex4}{l=len}",
	"i2c_write":  " i2c-{adapter_nr} #{msg_nr}{a=addr:hex3}{f=flags:hex4}{l=len}{buf:bytes}",
	"i2c_reply":  " i2c-{adapter_nr} #{msg_nr}{a=addr:hex3}{f=flags:hex4}{l=len}{buf:bytes}",
	"i2c_result": " i2c-{adapter_nr}{n=nr_msgs}{=ret}",
}

// parseFormats reads formats: {key} is the value of an argument, {key:style} the value in a style of appendArg, {=key} is the
// value after the key, {name=key} after a name.
func parseFormats(formats map[string]string) map[string][]ftracePiece {
	parsed := map[string][]ftracePiece{}
	for event, format := range formats {
		var pieces []ftracePiece
		for rest := format; rest != ""; {
			text, after, _ := strings.Cut(rest, "{")
			var item string
			item, rest, _ = strings.Cut(after, "}")
			if text != "" {
				pieces = append(pieces, ftracePiece{text: text})
			}
			if item == "" {
				continue
			}
			item, style, _ := strings.Cut(item, ":")
			p := ftracePiece{key: item, style: style}
			if name, key, named := strings.Cut(item, "="); named {
				p.key, p.shown = key, name
				if name == "" {
					p.shown = key
				}
				p.text = " " + p.shown + "="
			}
			pieces = append(pieces, p)
		}
		parsed[event] = pieces
	}
	return parsed
}
