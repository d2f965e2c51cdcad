package compose

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// width is the width of a report, in columns.
const width = 80

// ReportOptions say how a report is written.
type ReportOptions struct {
	// From is the folder from which the reader reads the report: paths of files below it are relative to it.
	From string
	// Manifest is the file that was written, or empty if unknown.
	Manifest string
}

// Count returns the number of findings with a weight.
func (r Result) Count(w Weight) (n int) {
	for _, f := range r.Findings {
		if f.Weight == w {
			n++
		}
	}
	return n
}

// Steps returns the steps to take after the import, in order.
func (r Result) Steps(manifest string) []Step {
	manifest = cmp.Or(manifest, "FILE")
	return r.steps.list(r.Count(Breaks), "tend apply -f "+quoted(manifest))
}

// Report returns the findings, sorted by weight with the heaviest first, and the next steps.
func (r Result) Report(o ReportOptions) string {
	var out strings.Builder
	for _, group := range []struct {
		weight Weight
		head   string
	}{
		{Breaks, "BREAKS: settle these before you apply"},
		{Changes, "CHANGES BEHAVIOUR: it runs, and does something else than under Compose"},
		{Trifle, "TRIFLES: nothing to do"},
	} {
		if r.Count(group.weight) == 0 {
			continue
		}
		out.WriteString(group.head + "\n")
		for _, f := range r.Findings {
			if f.Weight == group.weight {
				f.write(&out, o.From)
			}
		}
		out.WriteString("\n")
	}
	out.WriteString("NEXT\n")
	for i, step := range r.Steps(o.Manifest) {
		number := fmt.Sprintf("  %d. ", i+1)
		out.WriteString(number + wrap(step.Text, len(number)) + "\n")
		for _, command := range step.Commands {
			out.WriteString("       " + command + "\n")
		}
	}
	fmt.Fprintf(&out, "\n%s: %d break, %d change behaviour, %s\n", counted(len(r.Sections), "object"),
		r.Count(Breaks), r.Count(Changes), counted(r.Count(Trifle), "trifle"))
	return out.String()
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// write writes one finding: its place, and its text below.
func (f Finding) write(out *strings.Builder, from string) {
	head := "  " + f.Path
	if f.Line > 0 {
		head = fmt.Sprintf("  %s:%d:%d %s", shortened(from, f.File), f.Line, f.Column, f.Path)
	}
	out.WriteString(head + "\n      " + wrap(f.sentence(), 6) + "\n")
}

// shortened returns a file as seen from a folder, if it lies in it.
func shortened(from, file string) string {
	if from == "" || !filepath.IsAbs(file) {
		return file
	}
	if short := relativeTo(from, file); !strings.HasPrefix(short, "../") {
		return short
	}
	return file
}

// wrap breaks a text between words into lines of the terminal's width, indented. A longer word gets a line of its own.
func wrap(text string, indent int) string {
	var out strings.Builder
	column := indent
	for i, word := range strings.Fields(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+length > width:
			out.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += length
	}
	return out.String()
}
