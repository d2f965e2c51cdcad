package journal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"tend.dev/tend/internal/platform/delay"
)

// ReadOptions select lines.
type ReadOptions struct {
	// Since drops older lines.
	Since time.Time
	// Tail keeps the last n lines. A negative number keeps all.
	Tail int
	// Follow is asked whether to wait for more lines. If it is nil, reading ends with the last line.
	Follow func() bool
}

// pollEvery is the interval at which a follower checks for more.
const pollEvery = 50 * time.Millisecond

// maxRaw bounds a stored line: each byte of its text may have become a six byte escape.
const maxRaw = 8 * MaxText

// Reader reads a folder's lines in order. It is for one goroutine, but Close may come from another.
type Reader struct {
	dir    string
	opts   ReadOptions
	ctx    context.Context
	cancel context.CancelFunc
	queue  []string // files still to be read before the live one
	file   *os.File
	lines  *bufio.Reader
	part   []byte // the beginning of an incomplete line
	skip   int
	// drained is set while the current file, which was rotated away, is read for the last time.
	drained bool
	mu      sync.Mutex // held by Next
}

// Read opens a folder's lines. A folder without any is an empty journal.
func Read(ctx context.Context, dir string, opts ReadOptions) (*Reader, error) {
	r := &Reader{dir: dir, opts: opts}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.queue = paths(dir)
	if opts.Tail >= 0 {
		n, err := r.count()
		if err != nil {
			return nil, err
		}
		r.skip, r.queue = max(n-opts.Tail, 0), paths(dir)
	}
	return r, nil
}

// count returns the number of lines that pass the options' time.
func (r *Reader) count() (int, error) {
	counter := &Reader{dir: r.dir, opts: ReadOptions{Since: r.opts.Since}, ctx: r.ctx, cancel: func() {}, queue: r.queue}
	defer counter.closeFile()
	for n := 0; ; n++ {
		if _, err := counter.Next(); err != nil {
			if errors.Is(err, io.EOF) {
				return n, nil
			}
			return 0, err
		}
	}
}

// Next returns a line, or io.EOF.
func (r *Reader) Next() (Line, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		line, err := r.step()
		switch {
		case err != nil:
			r.closeFile()
			return Line{}, err
		case line.Time.Before(r.opts.Since):
		case r.skip > 0:
			r.skip--
		default:
			return line, nil
		}
	}
}

// step reads one stored line, moving to newer files and waiting as needed.
func (r *Reader) step() (Line, error) {
	for {
		if r.ctx.Err() != nil {
			return Line{}, io.EOF
		}
		// Follow is called before the read, so that the read includes the lines printed before the end.
		more := r.opts.Follow != nil && r.opts.Follow()
		raw, err := r.rawLine()
		switch {
		case err == nil:
			var line Line
			if json.Unmarshal(raw, &line) == nil {
				return line, nil
			}
		case !errors.Is(err, io.EOF):
			return Line{}, err
		case r.nextFile():
		case !more:
			return Line{}, io.EOF
		default:
			_ = delay.For(r.ctx, pollEvery)
		}
	}
}

// rawLine returns the next complete line of the file, or io.EOF.
func (r *Reader) rawLine() ([]byte, error) {
	if r.file == nil {
		return nil, io.EOF
	}
	chunk, err := r.lines.ReadSlice('\n')
	if len(r.part)+len(chunk) <= maxRaw {
		r.part = append(r.part, chunk...)
	}
	if errors.Is(err, bufio.ErrBufferFull) {
		return r.rawLine()
	}
	if err != nil {
		return nil, err
	}
	raw := r.part
	r.part = nil
	return raw, nil
}

// nextFile opens the file after the current one, if there is one. First it reads a rotated file once more: its last
// lines may have been written after its end was seen.
func (r *Reader) nextFile() bool {
	if len(r.queue) == 0 {
		newer := r.newer()
		if len(newer) == 0 {
			return false
		}
		if r.file != nil && !r.drained {
			r.drained = true
			return true
		}
		r.queue = newer
	}
	path := r.queue[0]
	r.queue = r.queue[1:]
	file, err := os.Open(path)
	if err != nil {
		return len(r.queue) > 0
	}
	r.closeFile()
	r.file, r.lines, r.part, r.drained = file, bufio.NewReader(file), nil, false
	return true
}

// newer returns the files after the current one, oldest first.
func (r *Reader) newer() []string {
	all := paths(r.dir)
	if r.file == nil {
		return all
	}
	current, err := r.file.Stat()
	if err != nil {
		return nil
	}
	for i, path := range all {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, current) {
			return all[i+1:]
		}
	}
	return all
}

func (r *Reader) closeFile() {
	if r.file != nil {
		_ = r.file.Close()
		r.file, r.lines = nil, nil
	}
}

// Close ends the reader, and a Next that waits.
func (r *Reader) Close() error {
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closeFile()
	return nil
}
