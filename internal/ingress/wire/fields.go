package wire

import "bytes"

// Field is a line of a head. Both parts point into the buffer it was read from.
type Field struct{ Name, Value []byte }

// longestKnown is the length of the longest name that means anything here.
const longestKnown = len("proxy-authorization")

// line cuts the next line off. ok is false where it holds a byte that no line may hold, or doesn't end in CRLF.
func line(text []byte) (first, rest []byte, ok bool) {
	end := bytes.IndexByte(text, '\n')
	if end < 1 || text[end-1] != '\r' {
		return nil, nil, false
	}
	first = text[:end-1]
	for _, c := range first {
		if c < ' ' && c != '\t' || c == 0x7f {
			return nil, nil, false
		}
	}
	return first, text[end+1:], true
}

// field parts a line at its colon.
func field(text []byte) (Field, bool) {
	colon := bytes.IndexByte(text, ':')
	if colon < 1 {
		return Field{}, false
	}
	for _, c := range text[:colon] {
		if !token[c] {
			return Field{}, false
		}
	}
	return Field{Name: text[:colon], Value: bytes.Trim(text[colon+1:], " \t")}, true
}

// known is a field's name in lower case, in a buffer of the caller's; nil where it is longer than any that is known.
func known(name []byte, buffer *[longestKnown]byte) []byte {
	if len(name) > longestKnown {
		return nil
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buffer[i] = c
	}
	return buffer[:len(name)]
}

// number reads an unsigned decimal number of at most 18 digits.
func number(text []byte) (int64, bool) {
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// token are the bytes of names (RFC 9110, 5.6.2), hostname those of a Host.
var token, hostname = set("!#$%&'*+-.^_`|~"), set("-._:[]")

func set(more string) (out [256]bool) {
	for c := range out {
		out[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	for _, c := range []byte(more) {
		out[c] = true
	}
	return out
}

// Complete says whether a text holds a head to its end.
func Complete(text []byte) bool { return bytes.Contains(text, endOfHead) }
