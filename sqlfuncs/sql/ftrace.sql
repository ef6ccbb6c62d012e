-- _ftrace_format has the formats of events for which to_ftrace does more than list the arguments: one row per argument,
-- with the text before and after it. {key} is an argument, {key:style} an argument in a style of _ftrace_value. Missing
-- arguments are left out, with the text before them.
CREATE OR REPLACE TABLE _ftrace_format AS
SELECT event, position, part.before, part.key, part.style, part.after
FROM (SELECT event, generate_subscripts(parts, 1) AS position,
             regexp_extract(unnest(parts), '^([^{]*)\{(\w+):?(\w*)\}(.*)$', ['before', 'key', 'style', 'after']) AS part
      FROM (SELECT event, regexp_extract_all(format, '[^{]*\{[^}]*\}(?:[^{]*$)?') AS parts
            FROM (VALUES
    ('sched_switch', ' prev_comm={prev_comm} prev_pid={prev_pid} prev_prio={prev_prio}'
     || ' prev_state={prev_state:task_state} ==> next_comm={next_comm} next_pid={next_pid} next_prio={next_prio}'),
    ('sched_wakeup', ' comm={comm} pid={pid} prio={prio} target_cpu={target_cpu:decimal3}'),
    ('sched_blocked_reason', ' pid={pid} iowait={io_wait} caller={caller:function}'),
    ('clock_set_rate', ' {name} state={state} cpu_id={cpu_id}'),
    ('clk_set_rate', ' {name} {rate}'),
    ('clock_enable', '{name} state={state} cpu_id={cpu_id}'),
    ('clock_disable', '{name} state={state} cpu_id={cpu_id}'),
    ('binder_transaction', ' transaction={debug_id:unsigned32} dest_node={target_node:unsigned32}'
     || ' dest_proc={to_proc} dest_thread={to_thread} reply={reply} flags=0x{flags:hex} code=0x{code:hex}'),
    ('binder_transaction_alloc_buf', ' transaction={debug_id:unsigned32} data_size={data_size}'
     || ' offsets_size={offsets_size}'),
    ('binder_transaction_received', ' transaction={debug_id:unsigned32}'),
    ('mm_filemap_add_to_page_cache', ' dev {s_dev:major}:{s_dev:minor} ino {i_ino:hex}'
     || ' page=0000000000000000 pfn={pfn} ofs={index:page}'),
    ('print', ' {buf:line}'),
    ('workqueue_activate_work', ' work struct {work:hex}'),
    ('workqueue_execute_start', ' work struct {work:hex}: function {function:function}'),
    ('workqueue_execute_end', ' work struct {work:hex}'),
    ('workqueue_queue_work', ' work struct={work:hex} function={function:function}'
     || ' workqueue={workqueue:hex}{req_cpu}{cpu}'),
    ('irq_handler_entry', ' irq={irq} name={name}'),
    ('irq_handler_exit', ' irq={irq} ret={ret:handled}'),
    ('softirq_entry', ' vec={vec} [action={vec:softirq}]'),
    ('softirq_exit', ' vec={vec} [action={vec:softirq}]'),
    ('tracing_mark_write', '{trace_begin:begin}|{pid}|{trace_name}'),
    ('dpu_tracing_mark_write', '{type:character}|{pid}|{name}|{value}'),
    ('g2d_tracing_mark_write', '{type:character}|{pid}|{name}|{value}'),
    ('panel_write_generic', '{type:character}|{pid}|{name}|{value}'),
    ('samsung_tracing_mark_write', '{trace_type:character}|{pid}|{trace_name}|{value}'),
    ('cgroup_attach_task', ' dst_root={dst_root} dst_id={dst_id} cgroup={cname} dst_level={dst_level}'
     || ' dst_path={dst_path} pid={pid} comm={comm}'),
    ('hrtimer_expire_entry', ' function={function:function}'),
    ('i2c_read', ' i2c-{adapter_nr} #{msg_nr} a={addr:hex3} f={flags:hex4} l={len}'),
    ('i2c_write', ' i2c-{adapter_nr} #{msg_nr} a={addr:hex3} f={flags:hex4} l={len}{buf:bytes}'),
    ('i2c_reply', ' i2c-{adapter_nr} #{msg_nr} a={addr:hex3} f={flags:hex4} l={len}{buf:bytes}'),
    ('i2c_result', ' i2c-{adapter_nr} n={nr_msgs} ret={ret}')) AS formats(event, format)));

-- _gfp_flags returns the names of the page allocator's flags, by kernel version (4.14 is 4014), in the order in which
-- they are removed from a value. Source: Trace Processor's table of these flags.
CREATE OR REPLACE MACRO _gfp_flags(kernel) AS list_transform(CASE
    WHEN kernel >= 4014 THEN [
        '4342ca GFP_TRANSHUGE', '342ca GFP_TRANSHUGE_LIGHT', '14200ca GFP_HIGHUSER_MOVABLE', '14200c2 GFP_HIGHUSER',
        '14200c0 GFP_USER', '15000c0 GFP_KERNEL_ACCOUNT', '14000c0 GFP_KERNEL', '1400040 GFP_NOFS',
        '1080020 GFP_ATOMIC', '1400000 GFP_NOIO', '1000000 GFP_NOWAIT', '1 GFP_DMA', '2 __GFP_HIGHMEM', '4 GFP_DMA32',
        '20 __GFP_HIGH', '80000 __GFP_ATOMIC', '40 __GFP_IO', '80 __GFP_FS', '100 __GFP_COLD', '200 __GFP_NOWARN',
        '400 __GFP_RETRY_MAYFAIL', '800 __GFP_NOFAIL', '1000 __GFP_NORETRY', '4000 __GFP_COMP', '8000 __GFP_ZERO',
        '10000 __GFP_NOMEMALLOC', '2000 __GFP_MEMALLOC', '20000 __GFP_HARDWALL', '40000 __GFP_THISNODE',
        '10 __GFP_RECLAIMABLE', '8 __GFP_MOVABLE', '100000 __GFP_ACCOUNT', '800000 __GFP_WRITE',
        '1400000 __GFP_RECLAIM', '400000 __GFP_DIRECT_RECLAIM', '1000000 __GFP_KSWAPD_RECLAIM']
    WHEN kernel >= 4004 THEN [
        '4352ca GFP_TRANSHUGE', '24200ca GFP_HIGHUSER_MOVABLE', '24200c2 GFP_HIGHUSER', '24200c0 GFP_USER',
        '24000d0 GFP_TEMPORARY', '24000c0 GFP_KERNEL', '2400040 GFP_NOFS', '2080020 GFP_ATOMIC', '2400000 GFP_NOIO',
        '20 GFP_HIGH', '80000 GFP_ATOMIC', '40 GFP_IO', '100 GFP_COLD', '200 GFP_NOWARN', '400 GFP_REPEAT',
        '800 GFP_NOFAIL', '1000 GFP_NORETRY', '4000 GFP_COMP', '8000 GFP_ZERO', '10000 GFP_NOMEMALLOC',
        '2000 GFP_MEMALLOC', '20000 GFP_HARDWALL', '40000 GFP_THISNODE', '10 GFP_RECLAIMABLE', '8 GFP_MOVABLE',
        '200000 GFP_NOTRACK', '400000 GFP_DIRECT_RECLAIM', '2000000 GFP_KSWAPD_RECLAIM', '800000 GFP_OTHER_NODE']
    WHEN kernel >= 3010 THEN [
        '4352da GFP_TRANSHUGE', '200da GFP_HIGHUSER_MOVABLE', '200d2 GFP_HIGHUSER', '200d0 GFP_USER',
        '800d0 GFP_TEMPORARY', 'd0 GFP_KERNEL', '50 GFP_NOFS', '20 GFP_ATOMIC', '10 GFP_NOIO', '20 GFP_HIGH',
        '10 GFP_WAIT', '40 GFP_IO', '100 GFP_COLD', '200 GFP_NOWARN', '400 GFP_REPEAT', '800 GFP_NOFAIL',
        '1000 GFP_NORETRY', '4000 GFP_COMP', '8000 GFP_ZERO', '10000 GFP_NOMEMALLOC', '2000 GFP_MEMALLOC',
        '20000 GFP_HARDWALL', '40000 GFP_THISNODE', '80000 GFP_RECLAIMABLE', '100000 GFP_KMEMCG', '8 GFP_MOVABLE',
        '200000 GFP_NOTRACK', '400000 GFP_NO_KSWAPD', '800000 GFP_OTHER_NODE']
    ELSE [
        '4352da GFP_TRANSHUGE', '200da GFP_HIGHUSER_MOVABLE', '200d2 GFP_HIGHUSER', '200d0 GFP_USER',
        '800d0 GFP_TEMPORARY', 'd0 GFP_KERNEL', '50 GFP_NOFS', '20 GFP_ATOMIC', '10 GFP_NOIO', '20 GFP_HIGH',
        '10 GFP_WAIT', '40 GFP_IO', '100 GFP_COLD', '200 GFP_NOWARN', '400 GFP_REPEAT', '800 GFP_NOFAIL',
        '1000 GFP_NORETRY', '4000 GFP_COMP', '8000 GFP_ZERO', '10000 GFP_NOMEMALLOC', '20000 GFP_HARDWALL',
        '40000 GFP_THISNODE', '80000 GFP_RECLAIMABLE', '8 GFP_MOVABLE', '400000 GFP_NO_KSWAPD',
        '800000 GFP_OTHER_NODE']
    END,
    lambda flag: struct_pack(rest := ('0x' || split_part(flag, ' ', 1))::BIGINT, text := split_part(flag, ' ', 2)));

-- _gfp_text returns a value of gfp_flags as names: GFP_KERNEL|GFP_ZERO|0x80.
CREATE OR REPLACE MACRO _gfp_text(value, kernel) AS
    CASE WHEN value = 0 THEN 'GFP_NOWAIT' ELSE list_reduce(
        list_prepend(struct_pack(rest := value, text := ''),
                     list_append(_gfp_flags(kernel), struct_pack(rest := 0::BIGINT, text := ''))),
        lambda done, flag: CASE
            WHEN flag.rest = 0 AND done.rest <> 0
            THEN struct_pack(rest := 0::BIGINT, text := done.text || '|0x' || lower(hex(done.rest)))
            WHEN flag.rest <> 0 AND done.rest & flag.rest = flag.rest
            THEN struct_pack(rest := done.rest - flag.rest, text := done.text || '|' || flag.text)
            ELSE done END).text[2:] END;

-- _task_state returns prev_state of sched_switch as letters (S|D). The layout of the bits depends on the kernel version
-- (4.14 is 4014).
CREATE OR REPLACE MACRO _task_state(raw, kernel) AS
    CASE WHEN kernel >= 4014 AND raw & 65024 <> 0 THEN '?'
         WHEN raw & CASE WHEN kernel >= 4014 THEN 255 ELSE 2047 END = 0
         THEN CASE WHEN raw & CASE WHEN kernel >= 4014 THEN 256 WHEN kernel >= 4008 THEN 4096 ELSE 2048 END = 0
                   THEN 'R' ELSE 'R+' END
         WHEN kernel < 4014 AND raw & 2047 = 1026 THEN 'I'
         ELSE array_to_string(list_transform(
             list_filter(range(CASE WHEN kernel >= 4014 THEN 8 ELSE 11 END), lambda bit: raw & (1 << bit) <> 0),
             lambda bit: (CASE WHEN kernel >= 4014 THEN 'SDTtXZPI' ELSE 'SDTtXZxKWPN' END)[bit + 1]), '|') END;

-- _ftrace_value returns an argument's value as ftrace prints it. style is '' if the argument has no special one.
CREATE OR REPLACE MACRO _ftrace_value(key, int_value, string_value, real_value, value_type, style, kernel) AS CASE
    WHEN style = '' AND key <> 'gfp_flags' THEN coalesce(
        string_value,
        CASE WHEN value_type = 'bool' THEN (int_value <> 0)::VARCHAR
             WHEN value_type IN ('uint', 'pointer') AND int_value < 0
             THEN (int_value + 18446744073709551616::HUGEINT)::VARCHAR
             ELSE int_value::VARCHAR END,
        printf('%f', real_value), '[NULL]')
    ELSE CASE
    WHEN key = 'gfp_flags' THEN _gfp_text(int_value, kernel)
    WHEN style = 'task_state' THEN _task_state(int_value & 65535, kernel)
    WHEN style = 'line' THEN CASE WHEN ends_with(string_value, chr(10)) THEN string_value[:-2] ELSE string_value END
    WHEN style = 'decimal3' THEN printf('%03d', int_value)
    WHEN style = 'unsigned32' THEN (int_value & 4294967295)::VARCHAR
    WHEN style = 'hex' OR style = 'function' AND int_value IS NOT NULL THEN lower(hex(int_value))
    WHEN style = 'hex3' THEN printf('%03x', int_value)
    WHEN style = 'hex4' THEN printf('%04x', int_value)
    WHEN style = 'major' THEN (int_value >> 20)::VARCHAR
    WHEN style = 'minor' THEN (int_value & 1048575)::VARCHAR
    WHEN style = 'page' THEN (int_value * 4096)::VARCHAR
    WHEN style = 'begin' THEN CASE WHEN int_value <> 0 THEN 'B' ELSE 'E' END
    WHEN style = 'character' THEN chr(int_value::INTEGER)
    WHEN style = 'handled' THEN CASE WHEN int_value <> 0 THEN 'handled' ELSE 'unhandled' END
    WHEN style = 'softirq'
    THEN coalesce(['HI', 'TIMER', 'NET_TX', 'NET_RX', 'BLOCK', 'BLOCK_IOPOLL', 'TASKLET', 'SCHED', 'HRTIMER', 'RCU']
                  [int_value + 1], int_value::VARCHAR)
    WHEN style = 'bytes' THEN ' [' || array_to_string(regexp_extract_all(lower(hex(string_value)), '..'), '-') || ']'
    ELSE string_value END END;

-- to_ftrace(id): an event of ftrace_event as a line of ftrace's text format, as systrace and trace-cmd show it:
-- "            name-12    (   10) [003] .... 1.000002: sched_wakeup: comm=x pid=7 prio=120 target_cpu=003".
-- Source: Trace Processor's to_ftrace.
CREATE OR REPLACE MACRO to_ftrace(id /*!, trace_id */) AS (
    -- Sorting a list takes a third of the time of string_agg with ORDER BY.
    SELECT any_value(_head) || coalesce(array_to_string(list_transform(
        list_sort(list(struct_pack(at := _at, text := _text)) FILTER (_text IS NOT NULL)), lambda part: part.text), ''), '')
    FROM (
        SELECT _event._head,
               CASE WHEN _event._formatted THEN _format.position ELSE _a.id END AS _at,
               CASE WHEN _event._formatted THEN _format.before ELSE ' ' || _a.key || '=' END
               || _ftrace_value(_a.key, _a.int_value, _a.string_value, _a.real_value, _a.value_type,
                                coalesce(_format.style, ''), _event._kernel)
               || coalesce(_format.after, '') AS _text
        FROM (
            SELECT printf('%16s-%-5d (%5s) [%03d] .... %d.%06d: %s:',
                          CASE WHEN _t.tid = 0 THEN '<idle>'
                               ELSE replace(coalesce(nullif(_t.name, ''), '<unknown>'), '-', '_') END,
                          coalesce(_t.tid, 0), coalesce(nullif(_p.pid, 0)::VARCHAR, '-----'), coalesce(_e.cpu, 0),
                          _e.ts // 1000000000, _e.ts % 1000000000 // 1000,
                          CASE WHEN _e.name IN ('print', 'g2d_tracing_mark_write', 'dpu_tracing_mark_write')
                               THEN 'tracing_mark_write' ELSE coalesce(_e.name, '') END) AS _head,
                   _e.name AS _name, _e.arg_set_id AS _set, /*! _of._trace, */
                   _e.name IN (SELECT event FROM _ftrace_format) AS _formatted,
                   coalesce((SELECT any_value(regexp_extract(_m.str_value, '^(\d+)\.', 1)::INTEGER * 1000
                                              + regexp_extract(_m.str_value, '^\d+\.(\d+)', 1)::INTEGER)
                             FROM metadata AS _m
                             WHERE _m.name = 'system_release' AND regexp_matches(_m.str_value, '^\d+\.\d+')
                                 /*! AND _m.trace_id = _of._trace */), 4004) AS _kernel
            FROM (SELECT id AS _of_id /*!, trace_id AS _trace */) AS _of
            JOIN ftrace_event AS _e ON _e.id = _of._of_id /*! AND _e.trace_id = _of._trace */
            LEFT JOIN thread AS _t ON _t.utid = _e.utid /*! AND _t.trace_id = _of._trace */
            LEFT JOIN process AS _p ON _p.upid = _t.upid /*! AND _p.trace_id = _of._trace */) AS _event
        LEFT JOIN args AS _a ON _a.arg_set_id = _event._set /*! AND _a.trace_id = _event._trace */
        LEFT JOIN _ftrace_format AS _format ON _format.event = _event._name AND _format.key = _a.key));
