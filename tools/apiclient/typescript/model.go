package main

// document is the generator's model of an API.
type document struct {
	title, version string
	// schemas are in the order of their names, operations in the order of paths and methods.
	schemas    []schema
	operations []operation
	// problem is the body of every error.
	problem typ
}

// schema is a type with a name.
type schema struct {
	name, doc string
	is        typ
}

// typ is a type of TypeScript: one of those below.
type typ interface{ isType() }

type (
	// unknown is any JSON value. TypeScript makes the caller check it before use.
	unknown struct{}
	// primitive is string, number, boolean or null.
	primitive string
	// literals is one of several texts.
	literals []string
	// named refers to a schema.
	named string
	array struct{ of typ }
	// table has arbitrary keys.
	table struct{ of typ }
	// record has the fields that the document names, and others too if it is open.
	record struct {
		fields []field
		open   bool
	}
	union []typ
)

func (unknown) isType()   {}
func (primitive) isType() {}
func (literals) isType()  {}
func (named) isType()     {}
func (array) isType()     {}
func (table) isType()     {}
func (record) isType()    {}
func (union) isType()     {}

// field is a property of a record, or a parameter of an operation.
type field struct {
	name, doc string
	is        typ
	optional  bool
}

// operation is a method on a path.
type operation struct {
	id, summary  string
	method, path string // such as GET and /v1/objects/{kind}
	// segments are the parameters of the path, in their order.
	segments, query []field
	body            *body
	// whole is the answer that is read as a whole; nil if there is only a stream.
	whole *answer
	// stream is the answer that comes in JSON lines; nil if there is none.
	stream *answer
}

// parameters returns all parameters in the order in which they are printed.
func (o operation) parameters() []field {
	return append(append([]field(nil), o.segments...), o.query...)
}

// body describes the body of a request.
type body struct {
	// json is the type of the value to send as JSON; nil if the body is bytes only.
	json typ
	// text is the media type of a string that is sent unchanged, or "".
	text string
	// bytes is the media type of bytes, or "".
	bytes string
}

// form is the way in which an answer is read.
type form int

const (
	inJSON form = iota
	inLines
	inText
	inBytes
	empty
	socket // the connection becomes a WebSocket
)

// answer describes the answer of a call that did not fail.
type answer struct {
	form  form
	media string
	is    typ    // of the value, or of each line
	doc   string // each status with its description
	// statuses are the statuses with this answer. A status of 400 and more belongs here too if its body isn't a problem.
	statuses []int
}
