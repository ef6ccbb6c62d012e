package ftrace

var (
	underruns      = spans("disp_dpu_underrun", "underrun[%[1]d]", "display_id")
	lineUnderruns  = spans("disp_dpu_line_underrun", "line_underrun[%[1]d]", "display_id")
	collisions     = spans("ddic_underrun", "ddic_underrun[%[1]d]", "panel_index")
	settingsFull   = spans("panel_settings_full", "panel_settings_full[%[1]d]", "panel_index")
	settingsLite   = spans("panel_settings_lite", "panel_settings_lite[%[1]d]", "panel_index")
	startTimeouts  = spans("disp_frame_start_timeout", "frame_start_timeout[%[1]d]", "panel_index")
	doneTimeouts   = spans("disp_frame_done_timeout", "frame_done_timeout[%[1]d]", "panel_index")
	startMissing   = spans("disp_frame_start_missing", "frame_start_missing[%[1]d]", "panel_index")
	doneMissing    = spans("disp_frame_done_missing", "frame_done_missing[%[1]d]", "panel_index")
	vblankEnabling = spans("disp_vblank_irq_enable", "vblank_irq_en[%[1]d]", "display_id")
)

func vblankEnable(p *Parser, e *Event) {
	track := on(vblankEnabling, "output_id")(p, e)
	if e.Int("enable") == 0 {
		p.Slices.End(e.TS, track, 0, 0, nil)
		return
	}
	p.Slices.Begin(e.TS, track, 0, p.word("disp_vblank_irq_enable"), p.argsOf(e, vblankArgs))
}

var vblankArgs = []argument{{"display_id", "id", asInt}, {"output_id", "output_id", asInt}}
