package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// paint colours text, or leaves it as it is.
type paint bool

// paintFor returns colours for a terminal, unless NO_COLOR is set.
func paintFor(w io.Writer) paint {
	return paint(terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func (p paint) in(code, text string) string {
	text = printable(text, "")
	if !p {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p paint) red(text string) string    { return p.in("31", text) }
func (p paint) green(text string) string  { return p.in("32", text) }
func (p paint) yellow(text string) string { return p.in("33", text) }
func (p paint) cyan(text string) string   { return p.in("36", text) }

// terminal reports whether a stream is a terminal.
func terminal(stream any) bool {
	file, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}
