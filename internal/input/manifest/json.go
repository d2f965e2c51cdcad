package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"tend.dev/tend/api/pattern"
)

// parseJSON parses one value. It doesn't replace variables, because machines write JSON.
func parseJSON(src *source, f *faults) *node {
	if at := invalidText(src.text); at >= 0 {
		f.at(src, span{at, at + 1}, "write text as UTF-8", "these bytes are no text in UTF-8, or half of a \\u pair")
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(src.text))
	decoder.UseNumber()
	r := &jsonReader{src: src, faults: f, decoder: decoder}
	n := r.value(0)
	if n == nil {
		return nil
	}
	at := r.skip(int(decoder.InputOffset()))
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		f.at(src, span{at, at + 1}, "write several objects as a list: [ … , … ]", "something follows the end of the value")
		return nil
	}
	return n
}

var halfPair = pattern.Lazy(`(?i)^\\u(d[89ab][0-9a-f]{2})(\\ud[c-f][0-9a-f]{2})?|^\\ud[c-f][0-9a-f]{2}`)

// invalidText returns the offset of the first character that a JSON decoder would silently replace, or -1.
func invalidText(text []byte) int {
	for at := 0; at < len(text); {
		if text[at] == '\\' && at+1 < len(text) {
			pair := halfPair().FindSubmatch(text[at:min(at+12, len(text))])
			switch {
			case pair == nil:
				at += 2
			case len(pair[2]) == 0:
				return at
			default:
				at += len(pair[0])
			}
			continue
		}
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// jsonReader reads tokens and records where each began.
type jsonReader struct {
	src     *source
	faults  *faults
	decoder *json.Decoder
	nodes   int
	failed  bool
}

// skip returns the offset after white space between two tokens.
func (r *jsonReader) skip(at int) int {
	for at < len(r.src.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.src.text[at]) >= 0 {
		at++
	}
	return at
}

// next reads a token; reading ends at the first error.
func (r *jsonReader) next() (json.Token, span, bool) {
	if r.failed {
		return nil, span{}, false
	}
	start := r.skip(int(r.decoder.InputOffset()))
	token, err := r.decoder.Token()
	here := span{start, max(int(r.decoder.InputOffset()), start)}
	if err == nil {
		return token, here, true
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		at := max(int(syntax.Offset)-1, 0)
		r.fail(span{at, at + 1}, "this is not JSON: "+err.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.fail(span{len(r.src.text), len(r.src.text)}, "this is not JSON: it ends too early")
	default:
		r.fail(here, "this is not JSON: "+err.Error())
	}
	return nil, here, false
}

func (r *jsonReader) fail(at span, summary string) {
	if !r.failed {
		r.faults.at(r.src, at, "", "%s", summary)
	}
	r.failed = true
}

func (r *jsonReader) value(depth int) *node {
	token, at, ok := r.next()
	if !ok {
		return nil
	}
	if r.nodes++; r.nodes > maxNodes {
		r.fail(at, "the text holds more than "+strconv.Itoa(maxNodes)+" values")
		return nil
	}
	if depth > maxDepth {
		r.fail(at, "values nest deeper than "+strconv.Itoa(maxDepth))
		return nil
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return r.object(at, depth)
		}
		return r.list(at, depth)
	case string:
		return &node{kind: textNode, text: v, at: at}
	case json.Number:
		if err := checkNumber(v.String()); err != nil {
			r.fail(at, err.Error())
			return nil
		}
		return &node{kind: numberNode, text: v.String(), at: at}
	case bool:
		return &node{kind: boolNode, text: strconv.FormatBool(v), at: at}
	}
	return &node{kind: nullNode, at: at}
}

func (r *jsonReader) list(at span, depth int) *node {
	n := &node{kind: listNode, at: at}
	for !r.failed && r.decoder.More() {
		if item := r.value(depth + 1); item != nil {
			n.items = append(n.items, item)
		}
	}
	return r.closed(n)
}

func (r *jsonReader) object(at span, depth int) *node {
	n := &node{kind: objectNode, at: at}
	seen := map[string]bool{}
	for !r.failed && r.decoder.More() {
		token, here, ok := r.next()
		if !ok {
			return nil
		}
		name, _ := token.(string)
		if seen[name] {
			r.fail(here, strconv.Quote(name)+" is given twice")
			return nil
		}
		seen[name] = true
		if value := r.value(depth + 1); value != nil {
			n.fields = append(n.fields, field{key: name, at: here, value: value})
		}
	}
	return r.closed(n)
}

// closed reads the bracket that ends n.
func (r *jsonReader) closed(n *node) *node {
	if _, _, ok := r.next(); !ok {
		return nil
	}
	return n
}
