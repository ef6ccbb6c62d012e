package many

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tracegen/pb"
)

// Spans of distributed traces.
var spans = []Format{
	otlpOf("otlp-spans", func(p *span) { p.add(1, p.i+1, 1) }),
	otlpOf("otlp-chain", func(p *span) { p.add(1, p.i+1, p.i) }),
	otlpOf("otlp-late-parents", func(p *span) { p.add(1, p.n-p.i, p.n-p.i-1) }),
	otlpOf("otlp-traces", func(p *span) { p.add(p.i+1, 1, 0) }),
	otlpOf("otlp-missing-parents", func(p *span) { p.add(1, p.i+1, p.i+p.n+1) }),
	otlpOf("otlp-overlapping", func(p *span) { p.at(p.i, p.i+p.n).add(1, p.i+1, p.n+1) }),
	otlpOf("otlp-links", func(p *span) {
		p.add(1, p.i+1, 0, pb.Message{}.Bytes(13, pb.Message{}.Bytes(1, traceID(1)).Bytes(2, spanID(1)))...)
	}),
	otlpOf("otlp-events", func(p *span) {
		p.add(1, p.i+1, 0, pb.Message{}.Bytes(11, pb.Message{}.Fixed64(1, uint64(p.i)).Bytes(2, []byte("e")))...)
	}),
	otlpOf("otlp-same-id", func(p *span) { p.add(1, 1, 1) }),
	otlpWhole("otlp-services", func(n int) (m pb.Message) {
		for i := range n {
			p := span{i: i, n: n}
			p.add(1, i+1, 0)
			m = m.Bytes(1, service("s"+strconv.Itoa(i)).Bytes(2, pb.Message(p.b)))
		}
		return m
	}),
	otlpWhole("otlp-attributes", func(n int) pb.Message {
		var attributes pb.Message
		for i := range n {
			attributes = attributes.Bytes(9, attribute("k"+strconv.Itoa(i), "v"))
		}
		var p span
		p.add(1, 1, 0, attributes...)
		return pb.Message{}.Bytes(1, service("s").Bytes(2, pb.Message(p.b)))
	}),
	otlpWhole("otlp-links-of-span", func(n int) pb.Message {
		var links pb.Message
		for i := range n {
			links = links.Bytes(13, pb.Message{}.Bytes(1, traceID(1)).Bytes(2, spanID(i+1)))
		}
		var p span
		p.add(1, 1, 0, links...)
		return pb.Message{}.Bytes(1, service("s").Bytes(2, pb.Message(p.b)))
	}),
	textsOf("otlp-json-lines", "", "", func(e *textOf) {
		e.text(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s`, e.i%8, `"}}]},"scopeSpans":[{"spans":[`)
		e.span(e.i+1, e.i)
		e.text("]}]}]}\n")
	}),
	textOfAll("otlp-json-nested", func(e *textOf) {
		e.text(`{"resourceSpans":[{"scopeSpans":[{"spans":[`)
		e.span(1, 0)
		e.text(`]}]},{"resource":{"attributes":[{"key":"k","value":`)
		e.repeat("", func(int) { e.text(`{"arrayValue":{"values":[`) })
		e.text(`{"intValue":"1"}`)
		e.repeat("", func(int) { e.text("]}}") })
		e.text("}]}}]}")
	}),
	textOfAll("otlp-json-shared-scope", func(e *textOf) {
		e.text(`{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"s","attributes":[`)
		e.repeat(",", func(i int) { e.text(`{"key":"k`, i, `","value":{"intValue":"1"}}`) })
		e.text(`]},"spans":[`)
		e.repeat(",", func(i int) { e.span(i+1, i) })
		e.text("]}]}]}")
	}),
	otlpProfilesOf("otlp-profiles-stacks", func(p *otlpProfiles) { // with a function and an attribute each
		for i := range p.n {
			p.frame()
			p.stack([]int{i + 1})
			p.attribute()
			p.sample(i+1, []int{i + 1}, []int{1})
		}
		p.endProfile()
		p.endResource(0)
	}),
	otlpProfilesOf("otlp-profiles-shared-stack", func(p *otlpProfiles) { // of many profiles
		for range p.n {
			p.frame()
			p.sample(1, nil, []int{1})
			p.endProfile()
		}
		p.stack(upTo(p.n))
		p.endResource(0)
	}),
	otlpProfilesOf("otlp-profiles-shared-attributes", func(p *otlpProfiles) { // of many values
		for range p.n {
			p.attribute()
		}
		p.sample(0, upTo(p.n), upTo(p.n))
		p.endProfile()
		p.endResource(0)
	}),
	otlpProfilesOf("otlp-profiles-shared-text", func(p *otlpProfiles) { // of many resources
		text := p.text(strings.Repeat("v", p.n))
		for range p.n {
			p.sample(0, nil, []int{1})
			p.endProfile()
			p.endResource(text)
		}
	}),
	textOfAll("jaeger-spans", func(e *textOf) {
		e.text(`{"data":[{"traceID":"1","spans":[`)
		e.repeat(",", func(i int) {
			e.text(`{"traceID":"1","spanID":"`, strconv.FormatInt(int64(i)+1, 16), `","operationName":"n","references":[{"refType":"CHILD_OF","traceID":"1","spanID":"`,
				strconv.FormatInt(int64(i), 16), `"}],"startTime":`, 1000+i, `,"duration":5,"tags":[],"logs":[{"timestamp":`, 1001+i, `,"fields":[]}],"processID":"p`, i%8, `"}`)
		})
		e.text(`],"processes":{}}]}`)
	}),
	textOfAll("jaeger-processes", func(e *textOf) {
		e.text(`{"data":[{"traceID":"1","spans":[`)
		e.repeat(",", func(i int) {
			e.text(`{"traceID":"1","spanID":"`, strconv.FormatInt(int64(i)+1, 16), `","operationName":"n","startTime":`, 1000+i, `,"duration":5,"processID":"p`, i, `"}`)
		})
		e.text(`],"processes":{`)
		e.repeat(",", func(i int) { e.text(`"p`, i, `":{"serviceName":"s`, i, `","tags":[]}`) })
		e.text(`}}]}`)
	}),
	textOfAll("jaeger-references", func(e *textOf) {
		e.text(`{"data":[{"traceID":"1","spans":[{"traceID":"1","spanID":"1","operationName":"n","startTime":1000,"duration":5,"processID":"p","references":[`)
		e.repeat(",", func(i int) {
			e.text(`{"refType":"FOLLOWS_FROM","traceID":"1","spanID":"`, strconv.FormatInt(int64(i)+2, 16), `"}`)
		})
		e.text(`]}],"processes":{"p":{"serviceName":"s"}}}]}`)
	}),
	zipkinOf("zipkin-spans", func(e *textOf, i int) {
		e.text(`{"traceId":"1","id":"`, strconv.FormatInt(int64(i)+1, 16), `","parentId":"`, strconv.FormatInt(int64(i), 16), `","name":"n","timestamp":`, 1000+i, `,"duration":5,"localEndpoint":{"serviceName":"s"}}`)
	}),
	zipkinOf("zipkin-shared", func(e *textOf, i int) {
		id, kind, shared := strconv.FormatInt(int64(i/2)+1, 16), "CLIENT", ""
		if i%2 > 0 {
			kind, shared = "SERVER", `,"shared":true`
		}
		e.text(`{"traceId":"1","id":"`, id, `","kind":"`, kind, `"`, shared, `,"name":"n","timestamp":`, 1000+i, `,"duration":5,"localEndpoint":{"serviceName":"s`, i%2, `"}}`)
	}),
	zipkinOf("zipkin-services", func(e *textOf, i int) {
		e.text(`{"traceId":"1","id":"`, strconv.FormatInt(int64(i)+1, 16), `","name":"n","timestamp":`, 1000+i, `,"duration":5,"localEndpoint":{"serviceName":"s`, i, `"}}`)
	}),
	zipkinOf("zipkin-same-id", func(e *textOf, i int) {
		e.text(`{"traceId":"1","id":"1","parentId":"2","name":"n","timestamp":`, 1000+i, `,"duration":5,"localEndpoint":{"serviceName":"s"}}`)
	}),
	zipkinOf("zipkin-traces", func(e *textOf, i int) {
		e.text(`{"traceId":"`, strconv.FormatInt(int64(i)+1, 16), `","id":"1","name":"n","timestamp":`, 1000+i, `,"duration":5,"annotations":[{"timestamp":`, 1001+i, `,"value":"a"}]}`)
	}),
}

// span builds spans as messages of OTLP.
type span struct {
	b           []byte // of the list of spans
	i, n        int
	starts, end int
}

func (p *span) at(start, end int) *span {
	p.starts, p.end = start, end
	return p
}

// add appends the span with an id and a parent, whose ids are 0 if there is none, and further fields.
func (p *span) add(trace, id, parent int, fields ...byte) {
	if p.end == 0 {
		p.at(10*p.i+1, 10*p.i+6)
	}
	m := pb.Message{}.Bytes(1, traceID(trace)).Bytes(2, spanID(id)).Bytes(5, []byte("n")).Fixed64(7, uint64(p.starts)).Fixed64(8, uint64(p.end))
	if parent > 0 {
		m = m.Bytes(4, spanID(parent))
	}
	p.b = pb.Message(p.b).Bytes(2, append(m, fields...))
}

func traceID(id int) []byte { return binary.BigEndian.AppendUint64(make([]byte, 8), uint64(id)) }
func spanID(id int) []byte  { return binary.BigEndian.AppendUint64(nil, uint64(id)) }

func attribute(key, value string) pb.Message {
	return pb.Message{}.Bytes(1, []byte(key)).Bytes(2, pb.Message{}.Bytes(1, []byte(value)))
}

// service is a resource of OTLP, without the spans.
func service(name string) pb.Message {
	return pb.Message{}.Bytes(1, pb.Message{}.Bytes(1, attribute("service.name", name)))
}

// otlpOf is n spans of one service.
func otlpOf(name string, each func(p *span)) Format {
	return otlpWhole(name, func(n int) pb.Message {
		p := span{n: n}
		for i := range n {
			p.i, p.end = i, 0
			each(&p)
		}
		return pb.Message{}.Bytes(1, service("s").Bytes(2, p.b))
	})
}

func otlpWhole(name string, request func(n int) pb.Message) Format {
	return Format{Name: name, whole: func(b []byte, n int) []byte { return append(b, request(n)...) }}
}

// otlpProfiles is a message ProfilesData of version 1.10. The first entry of each table stands for none.
type otlpProfiles struct {
	n                                        int
	resources, profiles, samples, dictionary pb.Message
	texts, functions, attributes             int
}

// otlpProfilesOf is profiles that share a dictionary.
func otlpProfilesOf(name string, add func(p *otlpProfiles)) Format {
	return otlpWhole(name, func(n int) pb.Message {
		p := otlpProfiles{n: n}
		for table := range 7 {
			p.dictionary = p.dictionary.Bytes(1+table, nil)
		}
		p.text("cpu")
		add(&p)
		return p.resources.Bytes(2, p.dictionary)
	})
}

// text adds a text, whose index it returns.
func (p *otlpProfiles) text(s string) int {
	p.dictionary = p.dictionary.Bytes(5, []byte(s))
	p.texts++
	return p.texts
}

// frame adds a function, and a location in it with the same index.
func (p *otlpProfiles) frame() {
	p.functions++
	name := p.text("f" + strconv.Itoa(p.functions))
	p.dictionary = p.dictionary.Bytes(3, pb.Message{}.Number(1, uint64(name)))
	p.dictionary = p.dictionary.Bytes(2, pb.Message{}.Bytes(3, pb.Message{}.Number(1, uint64(p.functions))))
}

func (p *otlpProfiles) attribute() {
	p.attributes++
	key := p.text("k" + strconv.Itoa(p.attributes))
	p.dictionary = p.dictionary.Bytes(6, pb.Message{}.Number(1, uint64(key)).Bytes(2, pb.Message{}.Bytes(1, []byte("v"))))
}

func (p *otlpProfiles) stack(locations []int) {
	p.dictionary = p.dictionary.Bytes(7, pb.Message{}.Bytes(1, packed(locations)))
}

func (p *otlpProfiles) sample(stack int, attributes, values []int) {
	p.samples = p.samples.Bytes(2, pb.Message{}.Number(1, uint64(stack)).Bytes(2, packed(attributes)).Bytes(4, packed(values)))
}

// endProfile makes a profile of the samples.
func (p *otlpProfiles) endProfile() {
	p.profiles = p.profiles.Bytes(2, append(pb.Message{}.Bytes(1, pb.Message{}.Number(1, 1)), p.samples...))
	p.samples = nil
}

// endResource makes a resource of the profiles, with an attribute.
func (p *otlpProfiles) endResource(text int) {
	attribute := pb.Message{}.Bytes(1, []byte("k")).Bytes(2, pb.Message{}.Number(8, uint64(text)))
	p.resources = p.resources.Bytes(1, pb.Message{}.Bytes(1, pb.Message{}.Bytes(1, attribute)).Bytes(2, p.profiles))
	p.profiles = nil
}

// upTo returns the numbers from 1 to n.
func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

func packed(numbers []int) (b []byte) {
	for _, n := range numbers {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// span appends a span as JSON of OTLP.
func (e *textOf) span(id, parent int) {
	hex := func(n int) string { return strconv.FormatInt(1<<60+int64(n), 16) }
	e.text(`{"traceId":"00000000000000000000000000000001","spanId":"`, hex(id), `","parentSpanId":"`, hex(parent), `","name":"n","startTimeUnixNano":"`, 10*id, `","endTimeUnixNano":"`, 10*id+5, `"}`)
}

func zipkinOf(name string, span func(e *textOf, i int)) Format {
	return textOfAll(name, func(e *textOf) {
		e.text("[")
		e.repeat(",", func(i int) { span(e, i) })
		e.text("]")
	})
}
