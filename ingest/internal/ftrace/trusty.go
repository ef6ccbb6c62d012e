package ftrace

// Trusty is a secure operating system that runs beside Linux. Its driver's
// slices are in the category tipc.

const tipc = "tipc"

// ifBelow runs a handler if the number in a field is less than limit.
func ifBelow(field string, limit int64, then handler) handler {
	return func(p *Parser, e *Event) {
		if e.Int(field) < limit {
			then(p, e)
		}
	}
}

func trustyBegin(format string, fields ...string) handler {
	return begin(onThread, tipc, formatted(format, fields...))
}

func trustyInstant(format string, fields ...string) handler {
	return instant(onThread, tipc, formatted(format, fields...))
}

var (
	trustyEnd  = end(onThread, tipc)
	writeShort = trustyInstant("tipc_write: %s", "srv_name")
	writeLong  = trustyInstant("tipc_write: %s shm_cnt:[%d]", "srv_name", "shm_cnt")
	connectErr = trustyInstant("tipc_err_connect:err= %d", "err")
)

func trustyWrite(p *Parser, e *Event) {
	if e.Uint("shm_cnt") > 0 {
		writeLong(p, e)
	} else {
		writeShort(p, e)
	}
}

func trustyConnectEnd(p *Parser, e *Event) {
	trustyEnd(p, e)
	if e.Int("err") != 0 {
		connectErr(p, e)
	}
}
