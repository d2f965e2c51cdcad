package wire

import "bytes"

// Answer is the head of a final answer. Its parts point into the buffer it was read from.
type Answer struct {
	// Status is 200 to 999, and Line what follows the version on the first line: the status and its reason.
	Status int
	Line   []byte
	// Fields are those that are the client's affair, not this connection's alone.
	Fields []Field
	// Length is the body's, -1 where Chunked or the end of the connection tells its end.
	Length  int64
	Chunked bool
	// Close says that the connection ends with this answer.
	Close bool
	// Dated says whether Fields tells when it was made.
	Dated bool
	// Size is the head's length, with the empty line.
	Size int

	old bool // HTTP/1.0, which knows no chunks
}

// Parse reads the head that text begins with, keeping the room its fields take. bare says that the request was a HEAD. It
// is false where the head isn't there to its end, or isn't plain.
func (a *Answer) Parse(text []byte, bare bool) bool {
	*a = Answer{Fields: a.Fields[:0], Length: -1, Size: measure(text)}
	return a.Size > 0 && read(text[:a.Size], a) && a.delimit(bare)
}

// start reads the first line. Informational answers and upgrades are not plain.
func (a *Answer) start(first []byte) bool {
	version, rest, ok := bytes.Cut(first, []byte{' '})
	if !ok || len(rest) < 3 || len(rest) > 3 && rest[3] != ' ' {
		return false
	}
	status, ok := number(rest[:3])
	a.old = string(version) == "HTTP/1.0"
	a.Status, a.Line, a.Close = int(status), rest, a.old
	return ok && status >= 200 && (a.old || string(version) == "HTTP/1.1")
}

// delimit settles where the body ends. An answer that says it in two ways is not plain.
func (a *Answer) delimit(bare bool) bool {
	if a.Chunked && (a.Length >= 0 || a.old) {
		return false
	}
	if bare || a.Status == 204 || a.Status == 304 {
		if !bare && a.Status == 204 && a.Length > 0 {
			return false
		}
		a.Length, a.Chunked = 0, false
	}
	if a.Length < 0 && !a.Chunked {
		a.Close = true
	}
	return true
}

// take keeps a field, or leaves it out, or says that the head isn't plain.
func (a *Answer) take(f Field) bool {
	var buffer [longestKnown]byte
	switch string(known(f.Name, &buffer)) {
	case "connection":
		closes, plain := ending(f.Value)
		a.Close = a.Close || closes
		return plain
	case "keep-alive":
		return true
	case "upgrade", "trailer", "te", "proxy-connection", "proxy-authenticate":
		return false
	case "transfer-encoding":
		again := a.Chunked
		a.Chunked = bytes.EqualFold(f.Value, []byte("chunked"))
		return a.Chunked && !again
	case "content-length":
		again := a.Length >= 0
		var ok bool
		a.Length, ok = number(f.Value)
		if !ok || again {
			return false
		}
	case "date":
		a.Dated = true
	}
	a.Fields = append(a.Fields, f)
	return true
}
