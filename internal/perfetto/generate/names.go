package main

import "strings"

// initialisms maps words to their spelling in Go names, where they are in
// capitals.
var initialisms = map[string]string{}

func init() {
	for word := range strings.FieldsSeq(`ABI API ASCII BPF CPU DNS DPU DRM ETM ETW FD FPS GID GPU HTML HTTP HTTPS HWC ID IID IO
		IP IPC IPI IRQ ISR JNI JSON JVM KB KPI LMK MAC MB MS NS OOM OS PC PID PPID QOS RAM RSS SDK SPE SQL TCP TGID TID TLS TS
		TTL UDP UFS UI UID UPID URI URL US UTF8 UTID UUID VM VMA XML`) {
		initialisms[strings.ToLower(word)] = word
		initialisms[strings.ToLower(word)+"s"] = word + "s"
	}
	delete(initialisms, "mss")
	delete(initialisms, "tss")
	delete(initialisms, "uss") // unique set size
	delete(initialisms, "pss") // proportional set size
	delete(initialisms, "ios")
	delete(initialisms, "dnss")
}

// goName converts a name with underscores to a Go name.
func goName(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(strings.ToLower(name), "_") {
		if word == "" {
			continue
		}
		if capitals, ok := initialisms[word]; ok {
			b.WriteString(capitals)
		} else {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
