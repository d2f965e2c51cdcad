package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"tend.dev/tend/internal/input/manifest"
)

// maxValues bounds how much is read from a file or from stdin.
const maxValues = 4 << 20

// values reads KEY=VALUE pairs from files and arguments. An argument wins over a file, a later file over an earlier
// one.
func (a *app) values(ctx context.Context, files, pairs []string) (map[string]string, error) {
	set := map[string]string{}
	for _, file := range files {
		text, err := a.readText(file)
		if err != nil {
			return nil, err
		}
		values, err := manifest.ParseDotenv(text)
		if err != nil {
			return nil, fmt.Errorf("%s, line %w", nameOf(file), err)
		}
		maps.Copy(set, values)
	}
	typed, err := a.typed(ctx, pairs, slices.Contains(files, "-"))
	if err != nil {
		return nil, err
	}
	maps.Copy(set, typed)
	if len(set) == 0 {
		return nil, fmt.Errorf("nothing to set: name KEY=VALUE, or a file of such lines with -f")
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if !utf8.ValidString(set[key]) { // JSON would change the bytes
			return nil, fmt.Errorf("%s: the value is not UTF-8 text\n  mount a file for binary data", key)
		}
	}
	return set, nil
}

// typed returns the pairs of the arguments. drained says that stdin is read already.
func (a *app) typed(ctx context.Context, pairs []string, drained bool) (map[string]string, error) {
	out := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("%q: want KEY=VALUE, as in LOG_LEVEL=info", pair)
		}
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("%s is named twice: name it once", key)
		}
		stdin := value == "-" || value == "@-"
		if stdin && drained {
			return nil, fmt.Errorf("%s: stdin is read already: it can be one value, or one file", key)
		}
		drained = drained || stdin
		var err error
		if keyboard, ok := a.in.(*os.File); ok && stdin && terminal(keyboard) {
			out[key], err = a.secret(ctx, keyboard, key)
		} else {
			out[key], err = a.valueOf(value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return out, nil
}

// valueOf returns a value as it was typed, or what it points at: @FILE, or - for stdin. One final line end is dropped:
// editors and echo leave it behind, and a password with it is another one.
func (a *app) valueOf(typed string) (string, error) {
	file, pointed := strings.CutPrefix(typed, "@")
	switch {
	case typed == "-":
		file = "-"
	case strings.HasPrefix(file, "@") || !pointed:
		return strings.TrimPrefix(typed, "@"), nil
	}
	text, err := a.readText(file)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"), nil
}

func (a *app) readText(file string) (string, error) {
	var from io.Reader = a.in
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("read values: %w", err)
		}
		defer opened.Close()
		from = opened
	}
	text, err := io.ReadAll(io.LimitReader(from, maxValues+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read values from %s: %w", nameOf(file), err)
	case len(text) > maxValues:
		return "", fmt.Errorf("read values from %s: it is larger than 4 MiB", nameOf(file))
	}
	return string(text), nil
}

func nameOf(file string) string {
	if file == "-" {
		return "stdin"
	}
	return file
}
