package binder

import "fmt"

// flagTexts are the TF_ flags of include/uapi/linux/android/binder.h.
var flagTexts = []struct {
	flag int64
	text string
}{
	{0x01, "this is a one-way call: async, no return; "},
	{0x04, "contents are the components root object; "},
	{0x08, "contents are a 32-bit status code; "},
	{0x10, "allow replies with file descriptors; "},
}

// OneWay is the flag of a transaction without reply.
const OneWay = 0x01

// Remark is what Trace Processor adds to the code of a transaction.
const Remark = " Java Layer Dependent"

// Texts are the texts of flags and codes, of which a trace has few.
type Texts struct {
	flags map[int64]string
	codes map[uint32]string
}

// Flags returns a transaction's flags as text.
func (t *Texts) Flags(flags int64) string { return remembered(&t.flags, flags, flagsText) }

// Code returns a transaction's code as text.
func (t *Texts) Code(code uint32) string {
	return remembered(&t.codes, code, func(code uint32) string { return fmt.Sprintf("0x%02x", code) + Remark })
}

func remembered[Number comparable](known *map[Number]string, n Number, text func(Number) string) string {
	s, ok := (*known)[n]
	if !ok {
		if *known == nil {
			*known = map[Number]string{}
		}
		s = text(n)
		(*known)[n] = s
	}
	return s
}

func flagsText(flags int64) string {
	text := fmt.Sprintf("0x%02x ", flags)
	if flags == 0 {
		return text + "No Flags Set"
	}
	for _, f := range flagTexts {
		if flags&f.flag != 0 {
			text += f.text
		}
	}
	return text
}
