package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxValues bounds a file of values.
const maxValues = 4 << 20

// values reads KEY=VALUE pairs from files and arguments; the later one wins.
func (a *app) values(files, pairs []string) (map[string]string, error) {
	set := map[string]string{}
	for _, file := range files {
		if err := a.readValues(file, set); err != nil {
			return nil, err
		}
	}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("%q: want KEY=VALUE", pair)
		}
		set[key] = value
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("nothing to set: name KEY=VALUE, or a file of such lines with -f")
	}
	return set, nil
}

// readValues reads lines of KEY=VALUE; empty ones and those that begin with # are passed over, the value is taken as
// it is.
func (a *app) readValues(file string, into map[string]string) error {
	var from io.Reader = a.in
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("read values: %w", err)
		}
		defer opened.Close()
		from = opened
	}
	lines := bufio.NewScanner(io.LimitReader(from, maxValues+1))
	lines.Buffer(nil, maxValues)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimRight(lines.Text(), "\r")
		if trimmed := strings.TrimSpace(line); trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return fmt.Errorf("%s, line %d: want KEY=VALUE", nameOf(file), number) // the line itself may be a secret
		}
		into[strings.TrimSpace(key)] = value
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read values from %s: %w", nameOf(file), err)
	}
	return nil
}

func nameOf(file string) string {
	if file == "-" {
		return "stdin"
	}
	return file
}
