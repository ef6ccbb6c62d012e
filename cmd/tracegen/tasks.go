package main

import (
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tracegen/template"
)

// taskSteps are the events of tasks: a phase, and when it begins and ends, in 64ths of the task.
var taskSteps = []string{
	"X0-64 X1-31 I2 X2-9 X3-6 X3-5 X10-16 X11-14 I12 X17-30 C18 X18-22 X19-20 X23-28 X24-26 X24-25 b32 X33-60 X34-44 X35-40 s36 X36-38 X45-50 X46-48 " +
		"X51-59 f52 X52-55 X53-54 X56-58 e57 X61-63",
	"X0-3 X4-50 X5-49 X6-40 X7-30 X8-25 X9-20 X10-18 X11-16 X12-14 I13 X21-24 X22-23 X26-29 X27-28 X31-39 I32 X32-34 s33 X35-38 X36-37 B41 X42-43 X44-45 E46 " +
		"X51-64 b52 X52-58 C53 X53-56 n54 X54-55 f57 X59-63 X60-61 e62",
}

// tasks are tasks of threads, whose events are shapes.
func tasks(event func(ph string, begin, end int) template.Shape) template.Shape {
	var all []template.Shape
	for _, steps := range taskSteps {
		var events []template.Shape
		for step := range strings.FieldsSeq(steps) {
			var begin, end int
			fmt.Sscanf(step[1:], "%d-%d", &begin, &end)
			events = append(events, event(step[:1], begin, end))
		}
		all = append(all, template.Join(events...))
	}
	return template.Pick("task", all)
}
