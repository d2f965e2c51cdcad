package cli

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"tend.dev/tend/internal/input/manifest"
)

// printable escapes the control characters of a text from outside, and those that are not seen but have others shown in
// another order, so that a container, a container runtime or a manifest can't control the terminal, nor what is read
// there. It keeps tabs and the characters in keep.
func printable(text, keep string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\t' || strings.ContainsRune(keep, r) || !manifest.Controls(r):
			out.WriteRune(r) // an invalid byte becomes U+FFFD
		case r <= 0xff:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
	}
	return out.String()
}

// plain writes text for people with values from outside in it. A value stays on its line: no control character of it,
// and no newline, reaches the terminal, so what a node says can't look like a line of Tend's own.
type plain struct{ out io.Writer }

// printf is fmt.Fprintf with printable values.
func (p plain) printf(format string, values ...any) {
	safe := make([]any, len(values))
	for i, value := range values {
		if safe[i] = value; textual(value) {
			safe[i] = printable(fmt.Sprint(value), "")
		}
	}
	fmt.Fprintf(p.out, format, safe...)
}

// indent writes a text that may have several lines, each behind a prefix.
func (p plain) indent(prefix, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(p.out, strings.TrimRight(prefix+printable(line, ""), " "))
	}
}

// textual reports whether a value is printed as a text.
func textual(value any) bool {
	switch value.(type) {
	case fmt.Stringer, error:
		return true
	}
	return reflect.ValueOf(value).Kind() == reflect.String
}
