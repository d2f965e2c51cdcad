package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"
)

// streams are the input and the outputs of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

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
		return writeYAML(s.out, l.value)
	case "name":
		for _, name := range l.names {
			fmt.Fprintln(s.out, name)
		}
		return nil
	}
	return fmt.Errorf("unknown output %q: want one of %s", format, strings.Join(formats, ", "))
}

func (l listing) table(s streams, wide bool) error {
	if len(l.rows) == 0 && l.empty != "" {
		fmt.Fprintln(s.err, l.empty)
		return nil
	}
	w := tabwriter.NewWriter(s.out, 0, 4, 3, ' ', 0)
	line := func(cells, more []string) {
		if wide {
			cells = append(append([]string{}, cells...), more...)
		}
		for i, cell := range cells {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, printable(cell, ""))
		}
		fmt.Fprintln(w)
	}
	line(l.header, l.wideHeader)
	for i, row := range l.rows {
		var more []string
		if i < len(l.wideRows) {
			more = l.wideRows[i]
		}
		line(row, more)
	}
	return w.Flush()
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

func writeYAML(w io.Writer, value any) error {
	out, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}

// countOf returns a number with its noun: 1 key, 2 keys.
func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
