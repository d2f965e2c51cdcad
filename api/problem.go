package api

import "fmt"

// Problem is the body of every HTTP error (RFC 9457). Detail says what and where, Next the step that helps.
type Problem struct {
	Type   string `json:"type,omitempty"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Next   string `json:"next,omitempty"`
	// Errors lists every fault where there are several.
	Errors []FieldError `json:"errors,omitempty"`
	// Builds are the objects whose trees are wanted (TreesWanted).
	Builds []MacroBuild `json:"builds,omitempty"`
	// RequestID identifies the lines about the request in the server's log. It is set only if the server is at fault.
	RequestID string `json:"requestID,omitempty"`
}

// HeaderRequestID is the header with the id of a request: each answer has it, and a request may.
const HeaderRequestID = "X-Request-ID"

// ProblemType begins the type of a problem that has a name: docs/use/errors has a page for each.
const ProblemType = "https://tend.dev/errors/"

// Error makes a Problem an error whose text is fit for a terminal.
func (p *Problem) Error() string {
	text := p.Title
	if p.Detail != "" {
		text = p.Detail
	}
	for _, e := range p.Errors {
		text += "\n  " + e.Error()
	}
	if p.Next != "" {
		text += "\n  " + p.Next
	}
	return text
}

// FieldError is a fault at one place of one object.
type FieldError struct {
	// Object is kind/scope/name, empty where the fault is not in one.
	Object string `json:"object,omitempty"`
	// Field is a path in the manifest's own words: strategy.order, ports[1].
	Field  string `json:"field,omitempty"`
	Detail string `json:"detail"`
}

// Error formats the fault as "object: field: detail".
func (e FieldError) Error() string {
	switch {
	case e.Object != "" && e.Field != "":
		return fmt.Sprintf("%s: %s: %s", e.Object, e.Field, e.Detail)
	case e.Field != "":
		return fmt.Sprintf("%s: %s", e.Field, e.Detail)
	case e.Object != "":
		return fmt.Sprintf("%s: %s", e.Object, e.Detail)
	}
	return e.Detail
}

// In reports whether the fault is in an object. A server of an earlier version writes the scope of an object that has
// none into its address, as "_".
func (e FieldError) In(ref Ref) bool {
	return e.Object == ref.String() ||
		ref.Scope == Unscoped && e.Object == string(ref.Kind)+"/"+Unscoped+"/"+ref.Name
}

// OutcomeUnknown is the title of the problem of a change that was sent to the store and not answered: it may be stored,
// or may be stored later.
const OutcomeUnknown = "OutcomeUnknown"

// IdempotencyKey is the header that marks requests as one: a repeat of a run under the same key starts no second one.
const IdempotencyKey = "Idempotency-Key"
