package keptlogs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/runtime"
)

// lastLines reads a log to its end and returns its last lines, as JSON, with at most limit bytes. What was read before
// an error is not the end of the log, so it is dropped.
func lastLines(from runtime.LogReader, limit int64) ([][]byte, error) {
	var lines [][]byte
	var size int64
	first := 0
	for {
		line, err := from.Next()
		if errors.Is(err, io.EOF) {
			return lines[first:], nil
		}
		if err != nil {
			return nil, err
		}
		encoded, err := json.Marshal(line)
		if err != nil {
			return nil, err
		}
		lines = append(lines, append(encoded, '\n'))
		size += int64(len(encoded)) + 1
		for ; size > limit; first++ {
			size -= int64(len(lines[first]))
			lines[first] = nil
		}
		if first > len(lines)/2 { // the dropped ones take no room for long
			lines, first = append([][]byte(nil), lines[first:]...), 0
		}
	}
}

// write writes a file whole, and returns its size.
func (s *Store) write(path string, log node.KeptLog, lines [][]byte) (size int64, err error) {
	head, err := json.Marshal(log)
	if err != nil {
		return 0, err
	}
	sealed, err := s.opts.Seal(bytes.Join(lines, nil))
	if err != nil {
		return 0, err
	}
	file, err := os.CreateTemp(s.opts.Dir, halfway)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	defer file.Close()
	content := slices.Concat(head, []byte{'\n'}, sealed)
	size = int64(len(content))
	if s.opts.Room != nil {
		if room, err := s.opts.Room(file); err != nil || room < size {
			return 0, errors.Join(err, ErrNoRoom)
		}
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return 0, fmt.Errorf("keep a log: %w", err)
	}
	return size, os.Rename(file.Name(), path)
}

// readHead reads whose log a file is.
func readHead(path string) (kept, error) {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return kept{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return kept{}, err
	}
	k := kept{path: path, size: info.Size()}
	return k, json.NewDecoder(io.LimitReader(file, 64<<10)).Decode(&k.KeptLog)
}

// read returns the wanted lines of a file. What can't be read ends them.
func (s *Store) read(path string, opts runtime.LogOptions) (runtime.LogReader, error) {
	content, err := os.ReadFile(filepath.Clean(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil, runtime.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	_, sealed, _ := bytes.Cut(content, []byte{'\n'})
	plain, err := s.opts.Unseal(sealed)
	if err != nil {
		return nil, fmt.Errorf("read a kept log: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	var lines []runtime.LogLine
	for {
		var line runtime.LogLine
		if err := decoder.Decode(&line); err != nil {
			break
		}
		if !line.At.Before(opts.Since) {
			lines = append(lines, line)
		}
	}
	if opts.Tail >= 0 && len(lines) > opts.Tail {
		lines = lines[len(lines)-opts.Tail:]
	}
	return &reader{lines: lines}, nil
}

// reader returns lines from memory.
type reader struct{ lines []runtime.LogLine }

// Next implements runtime.LogReader.
func (r *reader) Next() (runtime.LogLine, error) {
	if len(r.lines) == 0 {
		return runtime.LogLine{}, io.EOF
	}
	line := r.lines[0]
	r.lines = r.lines[1:]
	return line, nil
}

// Close implements runtime.LogReader.
func (r *reader) Close() error { return nil }
