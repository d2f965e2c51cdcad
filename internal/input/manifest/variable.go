package manifest

import "bytes"

// lookup finds a variable's value.
type lookup func(name string) (string, bool)

// braced is a variable in a text: ${NAME} or ${NAME:-default}.
type braced struct {
	name string
	// fallback is the default, which ends at the next brace. defaulted is set if the variable has one.
	fallback  []byte
	defaulted bool
	length    int
}

// nested reports whether the default holds another variable.
func (v braced) nested() bool { return bytes.Contains(v.fallback, []byte("${")) }

// expand returns the text for the variable. raw says that it is the default, which is the author's own text; else it is
// a value from outside.
func (v braced) expand(find lookup) (value string, raw, ok bool) {
	value, found := find(v.name)
	if found && (value != "" || !v.defaulted) {
		return value, false, true
	}
	return string(v.fallback), true, v.defaulted
}

// bracedIn returns the variable at the beginning of a text. closing returns the offset of the next brace or line end
// from an offset on, or the length of the text: a caller that asks often knows it without reading on.
func bracedIn(text []byte, closing func(from int) int) (v braced, ok bool) {
	end := word(text, func(c byte, first bool) bool { return letter(c) || c == '_' || !first && digit(c) })
	if end == 0 {
		return v, false
	}
	v.name = string(text[len("${"):end])
	rest := text[end:]
	if bytes.HasPrefix(rest, []byte("}")) {
		v.length = end + 1
		return v, true
	}
	if !bytes.HasPrefix(rest, []byte(":-")) {
		return v, false
	}
	begin := end + len(":-")
	if end = closing(begin); end >= len(text) || text[end] != '}' {
		return v, false
	}
	v.fallback, v.defaulted, v.length = text[begin:end], true, end+1
	return v, true
}

// referenceIn reports whether a text begins with a reference that the server resolves later: it stays unchanged.
func referenceIn(text []byte, closing func(from int) int) bool {
	end := word(text, func(c byte, _ bool) bool { return letter(c) || digit(c) || c == '_' || c == '-' })
	if end == 0 || end == len(text) || text[end] != '.' {
		return false
	}
	end = closing(end)
	return end < len(text) && text[end] == '}'
}

// word returns the end of the word behind "${" at the beginning of a text, or 0 if there is none.
func word(text []byte, of func(c byte, first bool) bool) int {
	if !bytes.HasPrefix(text, []byte("${")) {
		return 0
	}
	end := len("${")
	for end < len(text) && of(text[end], end == len("${")) {
		end++
	}
	if end == len("${") {
		return 0
	}
	return end
}

func letter(c byte) bool { return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' }

func digit(c byte) bool { return '0' <= c && c <= '9' }

// closingIn returns the closing function of a text that is asked about once.
func closingIn(text []byte) func(from int) int {
	return func(from int) int {
		if i := bytes.IndexAny(text[from:], "}\n"); i >= 0 {
			return from + i
		}
		return len(text)
	}
}
