package ftrace

import (
	"fmt"

	"github.com/tpconvert/tpconvert/ingest/internal/linux"
	"github.com/tpconvert/tpconvert/model"
)

// network is the state of network events.
type network struct {
	received, sent map[string]uint64 // bytes by interface
	streams        map[uint64]int64  // number of a TCP stream by its socket's address
	freed          int64
}

func (n *network) init() {
	n.received, n.sent, n.streams = map[string]uint64{}, map[string]uint64{}, map[uint64]int64{}
}

var (
	netReceive    = counters("net_receive", "%[1]s Received KB", "network_interface")
	netTransmit   = counters("net_transmit", "%[1]s Transmitted KB", "network_interface")
	tcpStreams    = spans("net_socket_set_state", "TCP stream#%[1]d", "tcp_stream_idx")
	tcpRetransmit = spans("net_tcp_retransmit_skb", "TCP Retransmit Skb")
	napiGRO       = spans("cpu_napi_gro", "Napi Gro Cpu %[1]d", "cpu")
	packetsFreed  = counters("net_kfree_skb", "Kfree Skb IP Prot")
)

func netifReceive(p *Parser, e *Event) { p.transfer(e, netReceive, p.net.received) }

func netXmit(p *Parser, e *Event) {
	if e.Int("rc") == 0 { // otherwise the driver refused the packet
		p.transfer(e, netTransmit, p.net.sent)
	}
}

func (p *Parser) transfer(e *Event, b *model.Blueprint, total map[string]uint64) {
	name, size := e.Text("name"), e.Uint("len")
	total[string(name)] += size
	p.count(e, p.Tracks.Intern(b, nil, model.StringDim(p.text(e, "name"))), float64(total[string(name)]/1024), p.list().
		add("cpu", model.UintArg(uint64(e.CPU))).
		add("len", model.UintArg(size)))
}

func socketState(p *Parser, e *Event) {
	family, state := e.Int("family"), e.Int("newstate")
	name := linux.TCPState(state)
	if e.Int("protocol") != linux.ProtocolTCP || family != linux.FamilyIPv4 && family != linux.FamilyIPv6 ||
		name == "" || linux.TCPState(e.Int("oldstate")) == "" {
		return
	}
	socket := e.Uint("skaddr")
	if p.net.streams[socket] == 0 {
		p.net.streams[socket] = int64(len(p.net.streams)) + 1
	}
	switch state {
	case linux.TCPSynSent:
		name = fmt.Sprintf("%s(pid=%d)", name, e.TID)
	case linux.TCPEstablished:
		name = fmt.Sprintf("%s(sport=%d,dport=%d)", name, e.Int("sport"), e.Int("dport"))
	}
	track := p.Tracks.Intern(tcpStreams, nil, model.IntDim(p.net.streams[socket]))
	p.Slices.End(e.TS, track, 0, 0, nil)
	p.Slices.Begin(e.TS, track, p.word("tcp_state"), p.word(name), nil)
}

func packetFreed(p *Parser, e *Event) {
	protocol := "IP"
	switch e.Int("protocol") {
	case linux.EtherIPv4:
	case linux.EtherIPv6:
		protocol = "IPV6"
	default:
		return
	}
	p.net.freed++
	p.count(e, p.Tracks.Intern(packetsFreed, nil), float64(p.net.freed), p.list().add("protocol", model.StringArg(p.word(protocol))))
}
