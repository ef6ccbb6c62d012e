package httpserver

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// mostBuffered is how many bytes of a body wait to be sent in one piece.
	mostBuffered = 64 << 10
	// mostKept is the size in bytes of the largest buffer that a connection keeps.
	mostKept = 16 << 10
	// writeTime is how long a client may take to read a piece, unless the handler says something else.
	writeTime = time.Minute
)

// response is the answer to a request. A short one is sent in one piece, a longer one in chunks.
type response struct {
	conn    *conn
	header  http.Header
	status  int
	body    bytes.Buffer // not sent yet
	left    int64        // bytes that are missing of a body whose length the handler has given
	begun   bool         // the head was sent
	chunked bool
	closing bool // the connection ends after it
	timed   atomic.Bool
	err     error // of sending
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. Of its calls the first final one counts.
func (w *response) WriteHeader(status int) {
	if w.status != 0 || status < 200 {
		return
	}
	w.status = status
	if n, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil {
		w.left = n
	}
}

// bodiless reports whether the status allows no body.
func (w *response) bodiless() bool {
	return w.status == http.StatusNoContent || w.status == http.StatusNotModified
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.bodiless() {
		return 0, http.ErrBodyNotAllowed
	}
	if w.header["Content-Length"] != nil {
		if int64(len(p)) > w.left {
			return 0, http.ErrContentLength
		}
		w.left -= int64(len(p))
	}
	if w.body.Len()+len(p) > mostBuffered && w.body.Len() > 0 {
		w.send(false)
	}
	w.body.Write(p)
	if w.body.Len() > mostBuffered {
		w.send(false)
	}
	return len(p), w.err
}

// Flush implements http.Flusher.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is for http.ResponseController.
func (w *response) FlushError() error {
	w.WriteHeader(http.StatusOK)
	w.send(false)
	return w.err
}

// SetReadDeadline is for http.ResponseController. The body is there already.
func (w *response) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline is for http.ResponseController.
func (w *response) SetWriteDeadline(t time.Time) error {
	w.timed.Store(true)
	return w.conn.SetWriteDeadline(t)
}

// send sends what is buffered. last says that nothing follows.
func (w *response) send(last bool) {
	out := bytes.NewBuffer(w.conn.out)
	if !w.begun {
		w.begun = true
		w.head(out, last)
	}
	switch {
	case !w.chunked:
		out.Write(w.body.Bytes())
	case w.body.Len() > 0:
		fmt.Fprintf(out, "%x\r\n%s\r\n", w.body.Len(), w.body.Bytes())
	}
	if w.chunked && last {
		out.WriteString("0\r\n\r\n")
	}
	w.body.Reset()
	if w.err == nil && !w.timed.Load() {
		w.err = w.conn.SetWriteDeadline(time.Now().Add(writeTime))
	}
	if w.err == nil && out.Len() > 0 {
		_, w.err = w.conn.Write(out.Bytes())
	}
	w.conn.out = kept(out.Bytes())
}

// kept returns a buffer to use again, unless it is large.
func kept(buffer []byte) []byte {
	if cap(buffer) > mostKept {
		return nil
	}
	return buffer[:0]
}

// head writes the head of the answer.
func (w *response) head(out *bytes.Buffer, last bool) {
	switch {
	case w.bodiless() || w.header["Content-Length"] != nil:
	case last:
		w.header.Set("Content-Length", strconv.Itoa(w.body.Len()))
	default:
		w.chunked = true
		w.header.Set("Transfer-Encoding", "chunked")
	}
	if w.body.Len() > 0 && w.header["Content-Type"] == nil && w.header["Content-Encoding"] == nil {
		w.header.Set("Content-Type", http.DetectContentType(w.body.Bytes()))
	}
	w.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	if w.closing {
		w.header.Set("Connection", "close")
	}
	fmt.Fprintf(out, "HTTP/1.1 %d %s\r\n", w.status, http.StatusText(w.status))
	_ = w.header.Write(out) // to memory
	out.WriteString("\r\n")
}

// finish sends the rest, and reports whether the connection can be used further.
func (w *response) finish() bool {
	w.WriteHeader(http.StatusOK)
	w.send(true)
	w.conn.body = kept(w.body.Bytes())
	return w.err == nil && w.left == 0 && !w.closing && w.header.Get("Connection") != "close"
}
