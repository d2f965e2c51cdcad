package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

// Writer appends lines to a folder's files. Its methods may be called concurrently.
type Writer struct {
	dir      string
	maxSize  int64
	maxFiles int
	mu       sync.Mutex
	file     *os.File // nil if it could not be opened; the next write tries again
	size     int64
	// torn is set while the file ends in a part of a line, because there was no space for the rest.
	torn bool
}

// Open returns a writer that keeps at most maxFiles files of about maxSize bytes each. It succeeds on a full disk: the
// first write that finds space creates the file.
func Open(dir string, maxSize int64, maxFiles int) (*Writer, error) {
	w := &Writer{dir: dir, maxSize: maxSize, maxFiles: max(maxFiles, 1)}
	err := w.openLive()
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = nil
	}
	return w, err
}

func (w *Writer) openLive() error {
	file, err := os.OpenFile(livePath(w.dir), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	w.file, w.size = file, info.Size()
	return nil
}

// Close closes the live file.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}

// Write stores one line. It rotates first if the live file is full.
func (w *Writer) Write(line Line) error {
	raw, err := json.Marshal(line)
	if err != nil {
		return err
	}
	raw = append(raw, '\n')
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		if err := w.openLive(); err != nil {
			return err
		}
	}
	if w.size > 0 && w.maxSize > 0 && w.size+int64(len(raw)) > w.maxSize {
		if err := w.rotate(); err != nil {
			return err
		}
	}
	if w.torn {
		raw = append([]byte{'\n'}, raw...)
	}
	n, err := w.file.Write(raw)
	w.size += int64(n)
	w.torn = w.torn && n == 0 || err != nil && n > 0
	return err
}

// rotate renames every file to the next number and starts a new live one. If only one file is kept, it is replaced.
func (w *Writer) rotate() error {
	file := w.file
	w.file = nil // even if a step below fails: the next write opens it
	if err := file.Close(); err != nil {
		return err
	}
	_ = os.Remove(oldPath(w.dir, w.maxFiles-1))
	for n := w.maxFiles - 2; n >= 0; n-- {
		if err := os.Rename(oldPath(w.dir, n), oldPath(w.dir, n+1)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return errors.Join(err, w.openLive())
		}
	}
	return w.openLive()
}

// Copy stores all of source's output, line by line, until its end. It keeps reading if lines can't be stored.
func (w *Writer) Copy(stream string, source io.Reader) {
	buffer, filled := make([]byte, MaxText), 0
	for {
		n, err := source.Read(buffer[filled:])
		filled += n
		used := w.takeLines(stream, buffer[:filled])
		filled = copy(buffer, buffer[used:filled])
		if filled == len(buffer) {
			end := wholeRunes(buffer)
			w.keep(stream, buffer[:end], true)
			filled = copy(buffer, buffer[end:])
		}
		if err != nil {
			if filled > 0 {
				w.keep(stream, buffer[:filled], false)
			}
			return
		}
	}
}

// takeLines stores the complete lines of text and returns their length in bytes.
func (w *Writer) takeLines(stream string, text []byte) int {
	used := 0
	for {
		end := bytes.IndexByte(text[used:], '\n')
		if end < 0 {
			return used
		}
		w.keep(stream, text[used:used+end], false)
		used += end + 1
	}
}

func (w *Writer) keep(stream string, text []byte, part bool) {
	_ = w.Write(Line{Stream: stream, Time: time.Now(), Text: string(text), Part: part})
}

// wholeRunes returns the position at which an incomplete last character begins.
func wholeRunes(text []byte) int {
	for i := 1; i < utf8.UTFMax; i++ {
		if start := len(text) - i; utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:]) {
				return start
			}
			break
		}
	}
	return len(text)
}
