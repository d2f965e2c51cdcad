package cli

import (
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

const (
	// usualWidth is the assumed width of a terminal that doesn't report one.
	usualWidth = 80
	// minWidth is the minimal width for breaking lines. Below it the terminal breaks them, since no table or sentence
	// reads well there.
	minWidth = 20
	// hanging is the further indentation of continuation lines.
	hanging = 4
)

// columnsOf returns how wide a line on a stream may be. It returns 0 if the stream is not a terminal, or a very narrow
// one: then nothing is wrapped, cut or left out. A terminal that doesn't tell its width counts as one of 80 columns.
// The last column stays free, because erasing to the end of a full line erases its last character.
func columnsOf(stream any) int {
	file, ok := stream.(interface{ Fd() uintptr })
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	switch {
	case err != nil || width > 0 && width < minWidth:
		return 0
	case width == 0:
		width = usualWidth
	}
	return width - 1
}

// width returns how wide a line of the output may be; 0 means any width.
func (s streams) width() int {
	if s.columns > 0 {
		return s.columns
	}
	return columnsOf(s.out)
}

// composed has write print into memory, and prints the result with its lines wrapped.
func (a *app) composed(write func(a *app) error) error {
	var text strings.Builder
	inner := *a
	inner.out, inner.columns = &text, a.width()
	failed := write(&inner)
	if _, err := io.WriteString(a.out, wrapped(text.String(), a.width())); err != nil {
		return err
	}
	return failed
}

// prose is a stream of messages. On a terminal, it wraps their lines.
type prose struct{ to *os.File }

func (p prose) Fd() uintptr { return p.to.Fd() }

func (p prose) Write(data []byte) (int, error) {
	if _, err := io.WriteString(p.to, wrapped(string(data), columnsOf(p.to))); err != nil {
		return 0, err
	}
	return len(data), nil
}

// verbatim returns the stream without the wrapping, for the output of other programs and for what is redrawn.
func verbatim(w io.Writer) io.Writer {
	if p, ok := w.(prose); ok {
		return p.to
	}
	return w
}

// wrapped breaks the lines of a text between words, so that none is wider than width. A word that is wider than a line
// stays whole: the terminal breaks it, and it can be copied as one. A width of 0 means any width.
func wrapped(text string, width int) string {
	if width == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = wrappedLine(strings.ReplaceAll(line, "\t", "    "), width)
	}
	return strings.Join(lines, "\n")
}

// filled returns a text whose paragraphs are broken to fit the width, wherever its lines end. An empty line, and one
// that is indented, ends a paragraph. A width of 0 means any width, and leaves the text as it is.
func filled(text string, width int) string {
	if width == 0 {
		return text
	}
	var out strings.Builder
	column := 0
	for i, line := range strings.Split(text, "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, " "):
			if column = 0; i > 0 {
				out.WriteString("\n")
			}
			out.WriteString(line)
			continue
		case column == 0 && i > 0:
			out.WriteString("\n")
		}
		for word := range strings.SplitSeq(line, " ") {
			wide := ansi.StringWidth(word)
			switch {
			case column == 0:
			case column+1+wide > width:
				out.WriteString("\n")
				column = 0
			default:
				out.WriteString(" ")
				column++
			}
			out.WriteString(word)
			column += wide
		}
	}
	return out.String()
}

func wrappedLine(line string, width int) string {
	if ansi.StringWidth(line) <= width {
		return line
	}
	indent := min(len(line)-len(strings.TrimLeft(line, " "))+hanging, width/2)
	var out strings.Builder
	for column := 0; line != ""; {
		body := strings.TrimLeft(line, " ")
		word, _, _ := strings.Cut(body, " ")
		gap := len(line) - len(body)
		if line = body[len(word):]; column > 0 && word != "" && column+gap+ansi.StringWidth(word) > width {
			out.WriteString("\n")
			column, gap = 0, indent
		}
		out.WriteString(strings.Repeat(" ", gap) + word)
		column += gap + ansi.StringWidth(word)
	}
	return out.String()
}
