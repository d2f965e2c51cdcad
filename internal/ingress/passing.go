package ingress

import (
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"
	"time"
)

// fullAnswer is how much of an answer is gathered before it is written; less where the pod has no more to say yet.
const fullAnswer = 32 << 10

// appendRequest writes a request's head as the pod gets it.
func (c *conversation) appendRequest(out []byte, b *backend) []byte {
	target, prefix := c.request.Target, ""
	if b.Strip && b.Path != "/" {
		prefix = b.Path
		target = target[len(prefix):]
	}
	out = append(append(out, c.request.Method...), ' ')
	if len(target) == 0 || target[0] != '/' {
		out = append(out, '/')
	}
	out = append(append(out, target...), " HTTP/1.1\r\n"...)
	out = appendField(out, "Host", c.request.Host)
	for _, f := range c.request.Fields {
		out = append(append(out, f.Name...), ": "...)
		out = append(append(out, f.Value...), "\r\n"...)
	}
	out = appendField(out, "X-Forwarded-For", c.client)
	out = appendField(out, "X-Forwarded-Host", c.request.Host)
	out = appendField(out, "X-Forwarded-Proto", "http")
	if prefix != "" {
		out = appendField(out, "X-Forwarded-Prefix", prefix)
	}
	return append(appendField(out, "X-Real-Ip", c.client), "\r\n"...)
}

func appendField[T string | []byte](out []byte, name string, value T) []byte {
	out = append(append(out, name...), ": "...)
	return append(append(out, value...), "\r\n"...)
}

// pass passes the answer on and returns the length of its body. An error leaves both connections of no further use.
func (c *conversation) pass(l *link) (int64, error) {
	a := &c.answer
	if c.site.ends() {
		c.request.Close = true
	}
	chunked := a.Chunked || a.Length < 0
	if chunked || a.Length > maxSpare/2 {
		c.room()
	}
	out := append(append(append(c.out[:0], "HTTP/1.1 "...), a.Line...), "\r\n"...)
	for _, f := range a.Fields {
		out = append(append(out, f.Name...), ": "...)
		out = append(append(out, f.Value...), "\r\n"...)
	}
	if !a.Dated {
		out = append(time.Now().UTC().AppendFormat(append(out, "Date: "...), http.TimeFormat), "\r\n"...)
	}
	if chunked {
		out = append(out, "Transfer-Encoding: chunked\r\n"...)
	}
	if c.request.Close {
		out = append(out, "Connection: close\r\n"...)
	}
	out = append(out, "\r\n"...)
	c.out = out
	if _, err := l.reader.Discard(a.Size); err != nil {
		return 0, err
	}
	if err := l.begun(); err != nil {
		return 0, err
	}
	if !chunked {
		return c.passLength(l)
	}
	return c.passChunks(l)
}

// passLength passes on a body whose length was told.
func (c *conversation) passLength(l *link) (passed int64, err error) {
	for passed < c.answer.Length {
		if l.reader.Buffered() == 0 || len(c.out) >= fullAnswer {
			if err := c.flush(); err != nil {
				return passed, err
			}
		}
		if _, err := l.reader.Peek(1); err != nil {
			return passed, noEnd(err)
		}
		part, _ := l.reader.Peek(int(min(int64(l.reader.Buffered()), c.answer.Length-passed)))
		c.out = append(c.out, part...)
		passed += int64(len(part))
		if _, err := l.reader.Discard(len(part)); err != nil {
			return passed, err
		}
	}
	return passed, c.flush()
}

// passChunks passes on a body whose length nobody knows: each part of it when it comes.
func (c *conversation) passChunks(l *link) (passed int64, err error) {
	body := io.Reader(l.reader)
	if c.answer.Chunked {
		body = httputil.NewChunkedReader(l.reader)
	}
	buffer, _ := chunks.Get().(*[]byte)
	if buffer == nil {
		buffer = new([]byte)
		*buffer = make([]byte, longestAnswerHead)
	}
	defer chunks.Put(buffer)
	for {
		if l.reader.Buffered() == 0 || len(c.out) >= fullAnswer {
			if err := c.flush(); err != nil {
				return passed, err
			}
		}
		n, err := body.Read(*buffer)
		if n > 0 {
			passed += int64(n)
			c.out = append(strconv.AppendInt(c.out, int64(n), 16), "\r\n"...)
			c.out = append(append(c.out, (*buffer)[:n]...), "\r\n"...)
		}
		switch {
		case err == io.EOF:
			c.out = append(c.out, "0\r\n\r\n"...)
			if err := c.flush(); err != nil {
				return passed, err
			}
			return passed, c.endChunks(l)
		case err != nil:
			return passed, noEnd(err)
		}
	}
}

// endChunks reads what follows the last chunk. Trailers that weren't announced are dropped, and the connection with them.
func (c *conversation) endChunks(l *link) error {
	if !c.answer.Chunked {
		return nil
	}
	end, err := l.reader.Peek(2)
	if err != nil || string(end) != "\r\n" {
		c.answer.Close = true
		return nil //nolint:nilerr // the body is whole; the connection is not used again
	}
	_, err = l.reader.Discard(2)
	return err
}

// refuse answers a request in a line of text, as problem does, and ends the connection.
func (c *conversation) refuse(status int, text string) int64 {
	body := strconv.Itoa(status) + " " + text + "\n"
	c.out = append(append(append(strconv.AppendInt(append(c.out[:0], "HTTP/1.1 "...), int64(status), 10), ' '), http.StatusText(status)...), "\r\n"...)
	c.out = appendField(c.out, "Content-Type", "text/plain; charset=utf-8")
	c.out = appendField(c.out, "Content-Length", strconv.Itoa(len(body)))
	c.out = append(appendField(c.out, "Connection", "close"), "\r\n"...)
	if c.request.Method[0] != 'H' {
		c.out = append(c.out, body...)
	}
	c.request.Close = true
	_ = c.flush()
	return int64(len(body))
}

// flush writes what was gathered.
func (c *conversation) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	return err
}

// noEnd is the error of an answer that broke off.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
