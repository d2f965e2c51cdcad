package main

import "strconv"

const (
	mediaJSON    = "application/json"
	mediaLines   = "application/jsonl"
	mediaEvents  = "text/event-stream"
	mediaProblem = "application/problem+json"
)

// responses parses the answers of an operation.
func (p *parser) responses(n node, o *operation) {
	for _, response := range n.members() {
		response.only("description", "content")
		doc := response.key + ": " + response.get("description").text()
		status, err := strconv.Atoi(response.key)
		switch {
		case response.key == "default", err == nil && status >= 400:
		case err != nil, status != 101 && status/100 != 2:
			response.refuse("the status %s is not understood", response.key)
			continue
		case status == 101:
			addAnswer(response.node, o, answer{form: socket, doc: doc, statuses: []int{status}})
			continue
		case len(response.get("content").media()) == 0:
			addAnswer(response.node, o, answer{form: empty, doc: doc, statuses: []int{status}})
			continue
		}
		content := response.get("content")
		for _, media := range content.media() {
			media.only("schema")
			switch {
			case media.key == mediaProblem:
				p.addProblem(media.need("schema"))
			case response.key == "default":
				media.refuse("an answer without a status is understood only as %s", mediaProblem)
			case media.key == mediaEvents && content.has(mediaLines):
				continue // the same values in another form
			default:
				answered := parseAnswer(media)
				answered.doc, answered.statuses = doc, []int{status}
				addAnswer(media.node, o, answered)
			}
		}
	}
	if o.whole == nil && o.stream == nil {
		n.refuse("no answer but errors")
	}
}

// media returns the members of a content, or nil.
func (n node) media() []member {
	if n.value == nil {
		return nil
	}
	return n.members()
}

// parseAnswer returns an answer in one media type.
func parseAnswer(media member) answer {
	described := media.need("schema")
	a := answer{media: media.key}
	switch {
	case media.key == mediaJSON:
		a.form, a.is = inJSON, parseType(described)
	case media.key == mediaLines:
		a.form, a.is = inLines, parseType(described)
	case media.key == mediaEvents:
		media.refuse("events are understood only beside %s", mediaLines)
	case isBytes(described):
		a.form = inBytes
	case parseType(described) == primitive("string"):
		a.form = inText
	default:
		media.refuse("an answer in %s is understood as a string or as bytes", media.key)
	}
	return a
}

// addAnswer merges an answer into the operation's answer of the same form, or adds it.
func addAnswer(n node, o *operation, a answer) {
	at := &o.whole
	if a.form == inLines {
		at = &o.stream
	}
	known := *at
	switch {
	case known == nil:
		*at = &a
	case known.form != a.form || known.media != a.media:
		n.refuse("the operation has another kind of answer already")
	default:
		known.statuses = append(known.statuses, a.statuses...)
		known.is = either(known.is, a.is)
		known.doc += "; " + a.doc
	}
}

// either returns a type that holds values of both.
func either(a, b typ) typ {
	if printType(a) == printType(b) {
		return a
	}
	return union{a, b}
}

// addProblem records the body of an error, which all operations share.
func (p *parser) addProblem(n node) {
	is := parseType(n)
	switch {
	case p.problem == nil:
		p.problem = is
	case printType(is) != printType(p.problem):
		n.refuse("another problem than %s", printType(p.problem))
	}
}
