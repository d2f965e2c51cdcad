package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"
	"sigs.k8s.io/yaml"
)

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// terminal says whether what is written goes to a person's screen.
func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// color says whether to use colour: on a screen, and not where NO_COLOR asks for none.
func color(w io.Writer) bool { return terminal(w) && os.Getenv("NO_COLOR") == "" }

// listing is something to print in the format asked for.
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
	// empty is said on stderr instead of a table without rows.
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
		fmt.Fprintln(w, strings.Join(cells, "\t"))
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

func writeYAML(w io.Writer, value any) error {
	out, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}

// single unwraps a listing of one, so that `get KIND SCOPE/NAME -o json` prints the object itself.
func single[T any](items []T) any {
	if len(items) == 1 {
		return items[0]
	}
	return items
}
