package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// record holds the digest of the inputs that each target passed with.
type record map[string]string

// readRecord reads a record; without a file nothing has passed.
func readRecord(path string) (record, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r := record{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			r[fields[0]] = fields[1]
		}
	}
	return r, nil
}

func (r record) write(path string) error {
	var text bytes.Buffer
	for _, target := range slices.Sorted(maps.Keys(r)) {
		fmt.Fprintln(&text, target, r[target])
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}
