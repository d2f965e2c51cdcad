package docker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/moby/moby/client"

	"tend.dev/tend/internal/node/runtime"
)

// maxLine is the longest line returned; a longer one is split into parts.
const maxLine = 64 << 10

// Logs streams the container's json-file log. It ends with the log, or when followed with the container.
func (r *Runtime) Logs(ctx context.Context, id string, opts runtime.LogOptions) (runtime.LogReader, error) {
	inspected, err := r.inspectOwn(ctx, id)
	if err != nil {
		return nil, err
	}
	id = inspected.Container.ID
	body, err := r.openLogs(ctx, id, opts)
	if err != nil {
		return nil, err
	}
	reader := &logReader{ctx: ctx, body: body, input: bufio.NewReaderSize(body, 32<<10)}
	reader.tty = inspected.Container.Config.Tty
	reader.fault = func(err error) error { return r.containerFault("logs of", id, err) }
	if opts.Follow {
		opts.Follow = false
		reader.reopen = func(last time.Time) (io.ReadCloser, error) { return r.openLogs(ctx, id, behind(opts, last)) }
	}
	return reader, nil
}

func (r *Runtime) openLogs(ctx context.Context, id string, opts runtime.LogOptions) (io.ReadCloser, error) {
	request := client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Timestamps: true, Follow: opts.Follow}
	if !opts.Since.IsZero() {
		request.Since = opts.Since.UTC().Format(time.RFC3339Nano)
	}
	if opts.Tail >= 0 {
		request.Tail = strconv.Itoa(opts.Tail)
	}
	body, err := r.client.ContainerLogs(ctx, id, request)
	if err != nil {
		return nil, r.containerFault("logs of", id, err)
	}
	return body, nil
}

// behind returns options for the lines after a moment; the zero time selects all lines.
func behind(opts runtime.LogOptions, last time.Time) runtime.LogOptions {
	if !last.IsZero() {
		opts.Tail, opts.Since = -1, last.Add(1)
	}
	return opts
}

// logReader reads lines from the engine's stream. Without a terminal the stream consists of frames: a header with
// stream and length, then one message of the log, which begins with its time and may be a part of a line. With a
// terminal it is plain text.
type logReader struct {
	ctx   context.Context //nolint:containedctx // distinguishes a stream that was cut from one that was closed
	body  io.ReadCloser
	input *bufio.Reader
	tty   bool
	// reopen reads the lines after a moment without following; nil if the log wasn't followed, and after the first call.
	reopen func(last time.Time) (io.ReadCloser, error)
	// fault names the container in an error.
	fault func(error) error
	// last is the latest time of a message.
	last time.Time
	// partial holds the incomplete line of each stream; ready the complete ones.
	partial [3]runtime.LogLine
	ready   []runtime.LogLine
}

var streamNames = [3]string{"stdout", "stdout", "stderr"}

func (l *logReader) Close() error { return l.body.Close() }

// Next returns the next line, io.EOF after the last.
func (l *logReader) Next() (runtime.LogLine, error) {
	for len(l.ready) == 0 {
		err := l.read()
		if errors.Is(err, io.EOF) {
			l.flush()
			err = l.readOn()
			if len(l.ready) > 0 {
				break
			}
			if errors.Is(err, io.EOF) {
				return runtime.LogLine{}, io.EOF
			}
		}
		if err != nil {
			if cause := l.ctx.Err(); cause != nil {
				err = cause
			}
			return runtime.LogLine{}, l.fault(err)
		}
	}
	line := l.ready[0]
	l.ready = l.ready[1:]
	return line, nil
}

// readOn continues, after a followed stream has ended, with further lines of the log. An engine that rotates a log
// faster than it is followed loses its position and reports nothing more until the container ends. readOn returns
// io.EOF at the end.
func (l *logReader) readOn() error {
	if l.reopen == nil {
		return io.EOF
	}
	reopen := l.reopen
	l.reopen = nil
	body, err := reopen(l.last)
	if err != nil {
		return io.EOF // the container was removed, and its log with it
	}
	_ = l.body.Close() // the followed stream has ended
	l.body = body
	l.input.Reset(body)
	return nil
}

func (l *logReader) read() error {
	if l.tty {
		return l.message(1, maxLine, l.readTTY)
	}
	var header [8]byte
	if _, err := io.ReadFull(l.input, header[:]); err != nil {
		return err // io.EOF between two frames, ErrUnexpectedEOF within one
	}
	if header[0] > 2 {
		return fmt.Errorf("logs: unknown stream %d", header[0])
	}
	frame := &io.LimitedReader{R: l.input, N: int64(binary.BigEndian.Uint32(header[4:]))}
	return l.message(int(header[0]), int(frame.N), func(limit int) ([]byte, error) {
		part := make([]byte, min(limit, maxLine, int(frame.N)))
		_, err := io.ReadFull(frame, part)
		return part, err
	})
}

// readTTY reads up to a line's end.
func (l *logReader) readTTY(int) ([]byte, error) {
	var text []byte
	for len(text) < maxLine {
		part, err := l.input.ReadSlice('\n')
		text = append(text, part...)
		if err == nil || (errors.Is(err, io.EOF) && len(text) > 0) {
			return text, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
	return text, nil
}

// message reads one message of size bytes, split into parts of at most maxLine. The first part begins with a time.
func (l *logReader) message(stream, size int, next func(limit int) ([]byte, error)) error {
	for begin := true; size > 0; begin = false {
		part, err := next(size)
		if err != nil {
			return err
		}
		if l.tty {
			size = 0
		} else {
			size -= len(part)
		}
		at := time.Time{}
		if begin {
			at, part = cutTime(part)
			if at.After(l.last) {
				l.last = at
			}
		}
		l.add(stream, at, part)
	}
	return nil
}

// add assembles text into lines.
func (l *logReader) add(stream int, at time.Time, text []byte) {
	line := &l.partial[stream]
	for len(text) > 0 {
		if line.Stream == "" {
			line.Stream, line.At = streamNames[stream], at
		}
		part, rest, ended := bytes.Cut(text, []byte("\n"))
		if room := maxLine - len(line.Text); len(part) > room {
			for cut := room; cut > room-utf8.UTFMax && cut > 0; cut-- { // no character is torn
				if utf8.RuneStart(part[cut]) {
					room = cut
					break
				}
			}
			line.Text += string(part[:room])
			line.Part = true
			text = text[room:]
			l.emit(stream)
			continue
		}
		line.Text += string(part)
		text = rest
		if ended {
			l.emit(stream)
		}
	}
}

func (l *logReader) emit(stream int) {
	line := l.partial[stream]
	if l.tty && len(line.Text) > 0 && line.Text[len(line.Text)-1] == '\r' {
		line.Text = line.Text[:len(line.Text)-1]
	}
	l.ready = append(l.ready, line)
	l.partial[stream] = runtime.LogLine{}
	// A further part of a split line has the same time.
	l.partial[stream].At = line.At
}

// flush returns lines without an end.
func (l *logReader) flush() {
	for stream, line := range l.partial {
		if line.Text != "" {
			l.emit(stream)
			l.partial[stream] = runtime.LogLine{}
		}
	}
}

// cutTime splits the time from the front of a message.
func cutTime(text []byte) (time.Time, []byte) {
	stamp, rest, found := bytes.Cut(text, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if !found || err != nil {
		return time.Time{}, text
	}
	return at, rest
}
