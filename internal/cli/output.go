package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/input/manifest"
)

// streams are the input and the outputs of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// columns is the width of a line if out is memory that is printed later; 0 means that out knows it.
	columns int
}

// items is a list that has no revision, as -o json and yaml print it. Their lists are objects with items, never null,
// as api.ListResult is.
type items[T any] struct {
	Items []T `json:"items"`
}

// itemsOf returns a list to print.
func itemsOf[T any](list []T) items[T] { return items[T]{append([]T{}, list...)} }

// listing is something to print in the requested format.
type listing struct {
	// value is printed as JSON or YAML.
	value any
	// names are printed for -o name, a line each.
	names  []string
	header []string
	rows   [][]string
	// wideHeader and wideRows are columns added by -o wide, row by row.
	wideHeader []string
	wideRows   [][]string
	// narrow says what goes on a terminal that is too narrow for the table. Other outputs and -o wide have all of it.
	narrow narrowing
	// empty is printed on stderr instead of a table without rows.
	empty string
}

// formats of -o.
var formats = []string{"table", "wide", "json", "yaml", "name"}

// write prints a listing.
func (l listing) write(s streams, format string) error {
	switch format {
	case "", "table", "wide":
		return l.table(s, format == "wide")
	case "json":
		return writeJSON(s.out, l.value)
	case "yaml":
		return l.yaml(s.out)
	case "name":
		for _, name := range l.names {
			fmt.Fprintln(s.out, name)
		}
		return nil
	}
	return fmt.Errorf("unknown output %q: want one of %s", format, strings.Join(formats, ", "))
}

// yaml prints the value. Objects are manifests: an apply of what is printed changes nothing.
func (l listing) yaml(w io.Writer) error {
	value := l.value
	switch value.(type) {
	case api.Object, api.ListResult[api.Object]:
		var err error
		if value, err = manifest.ForYAML(value); err != nil {
			return err
		}
	}
	return writeYAML(w, value)
}

func (l listing) table(s streams, wide bool) error {
	if len(l.rows) == 0 && l.empty != "" {
		fmt.Fprintln(s.err, l.empty)
		return nil
	}
	columns := l.columns(wide)
	if width := s.width(); width > 0 && !wide {
		columns = l.narrow.fit(columns, width)
	}
	_, err := io.WriteString(s.out, wrapped(aligned(columns), s.width()))
	return err
}

// columns returns the table by columns.
func (l listing) columns(wide bool) []column {
	header, rows := l.header, l.rows
	if wide {
		header = slices.Concat(header, l.wideHeader)
		rows = slices.Clone(rows)
		for i := range min(len(rows), len(l.wideRows)) {
			rows[i] = slices.Concat(rows[i], l.wideRows[i])
		}
	}
	var out []column
	for y, row := range append([][]string{header}, rows...) {
		for x, cell := range row {
			if x == len(out) {
				out = append(out, column{cells: make([]string, len(rows))})
			}
			if cell = printable(strings.ReplaceAll(cell, "\t", " "), ""); y == 0 {
				out[x].title = cell
			} else {
				out[x].cells[y-1] = cell
			}
		}
	}
	return out
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// compactJSON writes a value on one line.
func compactJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// printEach prints one value of a stream for a program: a line of JSON, or a document of YAML.
func (a *app) printEach(value any) error {
	if a.output == "json" {
		return compactJSON(a.out, value)
	}
	fmt.Fprintln(a.out, "---")
	return writeYAML(a.out, value)
}

func writeYAML(w io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	out, err := yaml.JSONToYAML(escapedJSON(text))
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}

// escapedJSON escapes the characters that strings of JSON may have as they are, and those of YAML, as which it is read,
// may not.
func escapedJSON(text []byte) []byte {
	var out bytes.Buffer
	for _, r := range string(text) {
		if r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// countOf returns a number with its noun: 1 key, 2 keys, 3 ingresses.
func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ey") {
		noun = api.Kind(noun).Plural()
	} else {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
