package cli

import (
	"fmt"
	"io"
	"strings"
)

// printable escapes the control characters of a text from outside, so that a container or a container runtime can't
// control the terminal. It keeps tabs and the characters in keep.
func printable(text, keep string) string {
	var out strings.Builder
	for _, r := range text {
		control := r < ' ' || r >= 0x7f && r <= 0x9f
		if control && r != '\t' && !strings.ContainsRune(keep, r) {
			fmt.Fprintf(&out, `\x%02x`, r)
			continue
		}
		out.WriteRune(r) // an invalid byte becomes U+FFFD
	}
	return out.String()
}

// plain is a writer of whole lines that contain no control characters.
type plain struct{ io.Writer }

func (p plain) Write(data []byte) (int, error) {
	if _, err := io.WriteString(p.Writer, printable(string(data), "\n")); err != nil {
		return 0, err
	}
	return len(data), nil
}
