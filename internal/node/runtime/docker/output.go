package docker

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// maxBuffered bounds the output of a command that is buffered for its reader.
const maxBuffered = 1 << 20

var errOutputClosed = errors.New("the output is no longer read")

// output is a pipe with a bounded buffer: stdout and stderr come in one stream, and a reader may want to read one
// completely before it starts with the other.
type output struct {
	mu      sync.Mutex
	changed *sync.Cond
	buffer  bytes.Buffer
	err     error // set once: io.EOF, or the error that cut the stream
	closed  bool
}

func newOutput() *output {
	o := &output{}
	o.changed = sync.NewCond(&o.mu)
	return o
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.buffer.Len() >= maxBuffered && !o.closed {
		o.changed.Wait()
	}
	if o.closed {
		return 0, errOutputClosed
	}
	o.changed.Broadcast()
	return o.buffer.Write(data)
}

func (o *output) Read(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.buffer.Len() == 0 && o.err == nil && !o.closed {
		o.changed.Wait()
	}
	if o.buffer.Len() == 0 {
		if o.err == nil {
			return 0, errOutputClosed
		}
		return 0, o.err
	}
	o.changed.Broadcast()
	return o.buffer.Read(data)
}

// end marks the end of the output; nil is a regular end.
func (o *output) end(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		err = io.EOF
	}
	o.err = err
	o.changed.Broadcast()
}

// abandon releases a blocked writer.
func (o *output) abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
}
