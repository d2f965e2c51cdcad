package wire

import (
	"bytes"
	"strings"
)

// Request is the head of a GET or HEAD without a body. Its parts point into the buffer it was read from.
type Request struct {
	// Method is GET or HEAD.
	Method []byte
	// Target is as the client sent it. Path is what comes before its query: no escapes, so it means itself.
	Target, Path []byte
	Host         []byte
	// Fields are the others that are the pod's affair: neither what concerns this connection alone, nor what a proxy says
	// of the client.
	Fields []Field
	// Close says that the client wants no further request on this connection.
	Close bool
	// Size is the head's length, with the empty line.
	Size int
}

// Parse reads the head that text begins with, keeping the room its fields take. It is false where the head isn't there
// to its end, or isn't plain.
func (r *Request) Parse(text []byte) bool {
	*r = Request{Fields: r.Fields[:0], Size: measure(text)}
	return r.Size > 0 && read(text[:r.Size], r) && len(r.Host) > 0
}

// start reads the first line.
func (r *Request) start(first []byte) bool {
	method, rest, ok := bytes.Cut(first, []byte{' '})
	if !ok || string(method) != "GET" && string(method) != "HEAD" {
		return false
	}
	target, version, ok := bytes.Cut(rest, []byte{' '})
	if !ok || string(version) != "HTTP/1.1" || len(target) == 0 || target[0] != '/' {
		return false
	}
	path, query, _ := bytes.Cut(target, []byte{'?'})
	for _, c := range path {
		if !pathname[c] {
			return false
		}
	}
	r.Method, r.Target, r.Path = method, target, path
	return !Dotted(string(path)) && plainQuery(query)
}

// plainQuery says whether every reader parts a query in the same way: whole escapes, and no semicolons.
func plainQuery(query []byte) bool {
	for i, c := range query {
		switch {
		case c <= ' ' || c >= 0x7f || c == '#' || c == ';':
			return false
		case c == '%' && (i+2 >= len(query) || !hex(query[i+1]) || !hex(query[i+2])):
			return false
		}
	}
	return true
}

func hex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// take keeps a field, or leaves it out, or says that the head isn't plain.
func (r *Request) take(f Field) bool {
	var buffer [longestKnown]byte
	switch name := string(hyphened(known(f.Name, &buffer))); name {
	case "host":
		if r.Host != nil || len(f.Value) == 0 {
			return false
		}
		for _, c := range f.Value {
			if !hostname[c] {
				return false
			}
		}
		r.Host = f.Value
	case "connection":
		closes, plain := ending(f.Value)
		r.Close = r.Close || closes
		return plain
	case "content-length", "transfer-encoding", "upgrade", "expect", "te", "trailer", "keep-alive", "http2-settings",
		"proxy-connection", "proxy-authorization", "proxy-authenticate":
		return false
	default:
		if !claims(name) {
			r.Fields = append(r.Fields, f)
		}
	}
	return true
}

// Dotted says whether a path has a segment that is one dot or two: who resolves them comes to another path. Some servers take a
// backslash for a slash, and what follows a semicolon for no part of a segment.
func Dotted(path string) bool {
	for at := 0; ; at++ {
		next := strings.IndexByte(path[at:], '.')
		if next < 0 {
			return false
		}
		if at += next; at == 0 || path[at-1] != '/' && path[at-1] != '\\' {
			continue
		}
		rest := strings.TrimPrefix(path[at+1:], ".")
		if rest == "" || strings.IndexByte(`/\;`, rest[0]) >= 0 {
			return true
		}
	}
}

// Claims says whether a field is one by which a proxy tells where a request came from. A client's own is a lie; so is one with
// underscores, which many servers take for hyphens.
func Claims(name string) bool {
	var buffer [longestKnown]byte
	return claims(string(hyphened(known([]byte(name), &buffer))))
}

func claims(name string) bool {
	switch name {
	case "forwarded", "x-forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-prefix", "x-real-ip":
		return true
	}
	return false
}

func hyphened(name []byte) []byte {
	for i, c := range name {
		if c == '_' {
			name[i] = '-'
		}
	}
	return name
}
