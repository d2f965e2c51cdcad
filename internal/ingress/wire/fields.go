package wire

import "bytes"

// Field is a line of a head. Both parts point into the buffer it was read from.
type Field struct{ Name, Value []byte }

// head is what takes in the parts of a head, and says where one isn't plain.
type head interface {
	start(first []byte) bool
	take(f Field) bool
}

var endOfHead = []byte("\r\n\r\n")

// Complete says whether a text holds a head to its end.
func Complete(text []byte) bool { return bytes.Contains(text, endOfHead) }

// measure is the length of the head that text begins with, with the empty line; 0 where it isn't there to its end.
func measure(text []byte) int {
	if end := bytes.Index(text, endOfHead); end >= 0 {
		return end + len(endOfHead)
	}
	return 0
}

// read gives the parts of a head, from its beginning to its empty line, to what takes them in.
func read(text []byte, into head) bool {
	first, rest, ok := line(text[:len(text)-2])
	if !ok || !into.start(first) {
		return false
	}
	for len(rest) > 0 {
		var one []byte
		if one, rest, ok = line(rest); !ok {
			return false
		}
		f, ok := field(one)
		if !ok || !into.take(f) {
			return false
		}
	}
	return true
}

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

// ending reads what a Connection field says. It is false where that names other fields.
func ending(value []byte) (closes, plain bool) {
	closes = bytes.EqualFold(value, []byte("close"))
	return closes, closes || bytes.EqualFold(value, []byte("keep-alive"))
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

// token are the bytes of names (RFC 9110, 5.6.2), hostname those of a Host, pathname those of a path that nobody escapes.
var token, hostname, pathname = set("!#$%&'*+-.^_`|~"), set("-._:[]"), set("-._~!$&'()*+,;=:@[]/")

func set(more string) (out [256]bool) {
	for c := range out {
		out[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	for _, c := range []byte(more) {
		out[c] = true
	}
	return out
}
