package bugreport

import "slices"

// eventNames maps the short names of battery history events to their full names.
var eventNames = map[string]string{
	"Enl": "null", "Epr": "proc", "Efg": "fg", "Etp": "top", "Esy": "sync", "Ewl": "wake_lock_in", "Ejb": "job", "Eur": "user",
	"Euf": "userfg", "Ecn": "conn", "Eac": "active", "Epi": "pkginst", "Epu": "pkgunin", "Eal": "alarm", "Est": "stats",
	"Eai": "pkginactive", "Eaa": "pkgactive", "Etw": "tmpwhitelist", "Esw": "screenwake", "Ewa": "wakeupap", "Elw": "longwake",
	"Eec": "est_capacity",
}

// state is a state in the battery history. values are the names of its values, counted from
// 0.
type state struct {
	name   string
	values []string
}

func (s state) value(name string) (int64, bool) {
	i := slices.Index(s.values, name)
	return int64(i), i >= 0
}

// states maps the states' short names to states.
var states = map[string]state{
	"r": {name: "running"}, "w": {name: "wake_lock"}, "s": {name: "sensor"}, "g": {name: "gps"}, "Wl": {name: "wifi_full_lock"},
	"Ws": {name: "wifi_scan"}, "Wm": {name: "wifi_multicast"}, "Wr": {name: "wifi_radio"}, "Pr": {name: "mobile_radio"},
	"Psc": {name: "phone_scanning"}, "a": {name: "audio"}, "S": {name: "screen"}, "BP": {name: "plugged"}, "Sd": {name: "screen_doze"},
	"Pss": {name: "phone_signal_strength"}, "Sb": {name: "brightness"}, "ps": {name: "power_save"}, "v": {name: "video"},
	"Ww": {name: "wifi_running"}, "W": {name: "wifi"}, "fl": {name: "flashlight"}, "ch": {name: "charging"}, "Ud": {name: "usb_data"},
	"Pcl": {name: "phone_in_call"}, "b": {name: "bluetooth"}, "Wss": {name: "wifi_signal_strength"}, "ca": {name: "camera"},
	"bles": {name: "ble_scan"}, "Chtp": {name: "cellular_high_tx_power"}, "nrs": {name: "nr_state"},
	"Pcn": {"data_conn", []string{"oos", "gprs", "edge", "umts", "cdma", "evdo_0", "evdo_A", "1xrtt", "hsdpa", "hsupa", "hspa", "iden",
		"evdo_b", "lte", "ehrpd", "hspap", "gsm", "td_scdma", "iwlan", "lte_ca", "nr", "emngcy", "other"}},
	"Pst": {"phone_state", []string{"in", "out", "em", "off"}},
	"di":  {"device_idle", []string{"off", "light", "full", "???"}},
	"Wsp": {"wifi_suppl", []string{"inv", "dsc", "dis", "inact", "scan", "auth", "ascing", "asced", "4-way", "group", "compl", "dorm",
		"uninit"}},
	"Gss": {"gps_signal_quality", []string{"poor", "good", "none"}},
}

// charges maps the short names of the battery's counters to counters. factor converts mAh
// to µAh and mV to µV.
var charges = map[string]struct {
	name   string
	factor int64
}{
	"Bl": {"capacity_pct", 1}, "Bcc": {"charge_uah", 1000}, "Bv": {"voltage_uv", 1000},
}

// batteryStates maps the states' letters to Android's BatteryManager.BATTERY_STATUS_...
// constants: unknown, charging, discharging, not charging, full.
var batteryStates = map[string]int64{"?": 1, "c": 2, "d": 3, "n": 4, "f": 5}

// plugs maps letters to BatteryManager.BATTERY_PLUGGED_... constants: none, AC, USB,
// wireless.
var plugs = map[string]int64{"n": 0, "a": 1, "u": 2, "w": 4}
