package manifest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
)

// bareKey matches a table's key that needs no quotes; words that HCL reads as something else need them.
var bareKey = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)

// plainReference matches a reference that the formatter leaves alone: it parses any other as an expression, and adds
// spaces.
var plainReference = pattern.Lazy(`^\$\{[a-z]+(\.[A-Za-z_][A-Za-z0-9_-]*)+\}$`)

// quote writes a text between quotes so that it reads back the same: references to assets and other objects unchanged,
// and any other ${ or %{ escaped so that nothing is replaced in it.
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	references := api.References(text)
	for at := 0; at < len(text); {
		if len(references) > 0 && at == references[0].Start {
			r := references[0]
			references = references[1:]
			if !r.Escaped && plainReference().MatchString(r.Text) {
				out.WriteString("${" + escape(r.Text[2:]))
				at = r.End
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		if (r == '$' || r == '%') && strings.HasPrefix(text[at+size:], "{") {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteString(escape(string(r)))
		}
		at += size
	}
	out.WriteByte('"')
	return out.String()
}

// escape returns a text with the escapes of a quoted HCL string.
func escape(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteRune('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\t':
			out.WriteString(`\t`)
		case r < ' ' || r == 0x7f || r == '\uFEFF':
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
