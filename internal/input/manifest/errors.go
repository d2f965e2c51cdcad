package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// The errors without a position in a manifest.
var (
	// ErrContentType: the body is neither JSON nor YAML.
	ErrContentType = errors.New("content type is not application/json or application/yaml")
	// ErrTooLarge: a file or a body is larger than its limit.
	ErrTooLarge = errors.New("is too large")
	// ErrNoManifest: the sources hold no manifest at all.
	ErrNoManifest = errors.New("no manifest found")
)

// Position is a place in a user's file. Line and Column count from 1, Column in characters.
type Position struct {
	File   string
	Line   int
	Column int
}

// String returns file:line:column.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Diagnostic is one error: its place, its cause and the next step.
type Diagnostic struct {
	Position
	// Object is kind/scope/name and Field a path in it, if the error is in an object.
	Object string
	Field  string
	// Absent is set if there is no such field: Summary names it, so a text for a terminal begins with Within, the path of
	// the block around it.
	Absent bool
	Within string
	// Summary describes the fault; Next is the next step, or empty.
	Summary string
	Next    string
	// Snippet is the line with a caret under the place, or empty.
	Snippet string
}

// String returns the text for a terminal: place and fault, the line, the next step.
func (d Diagnostic) String() string {
	text, place := d.Summary, d.Field
	if d.Absent {
		place = d.Within
	}
	if place != "" {
		text = place + ": " + text
	}
	if d.Object != "" {
		text = d.Object + ": " + text
	}
	if at := d.Position.String(); at != "" {
		text = at + ": " + text
	}
	if d.Snippet != "" {
		text += "\n" + d.Snippet
	}
	if d.Next != "" {
		text += "\n  " + d.Next
	}
	return text
}

// Error lists every error found, in the order of the files, at most maxDiagnostics of them.
type Error struct {
	List []Diagnostic
	// More is the number of further errors, which were left out.
	More int
}

func (e *Error) Error() string {
	parts := make([]string, 0, len(e.List)+1)
	for _, d := range e.List {
		parts = append(parts, d.String())
	}
	if e.More > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(parts, "\n")
}

// Fields returns the faults as the API reports them.
func (e *Error) Fields() []api.FieldError {
	var out []api.FieldError
	for _, d := range e.List {
		detail := d.Summary
		if d.Line != 0 {
			detail = fmt.Sprintf("%s (line %d, column %d)", detail, d.Line, d.Column)
		}
		if d.Next != "" {
			detail += "; " + d.Next
		}
		out = append(out, api.FieldError{Object: d.Object, Field: d.Field, Detail: detail})
	}
	return out
}

// maxDiagnostics bounds the diagnostics that one Error lists.
const maxDiagnostics = 20

// faults collects diagnostics. The zero value is ready.
type faults struct {
	list []Diagnostic
	more int
}

func (f *faults) add(d Diagnostic) {
	if len(f.list) >= maxDiagnostics {
		f.more++
		return
	}
	f.list = append(f.list, d)
}

// full counts an error that isn't listed, and reports whether the list is full: the caller then need not work out the
// details.
func (f *faults) full() bool {
	full := len(f.list) >= maxDiagnostics
	if full {
		f.more++
	}
	return full
}

// at adds an error at a span of a source.
func (f *faults) at(src *source, s span, next, format string, args ...any) {
	if f.full() {
		return
	}
	f.add(src.diagnostic(s, fmt.Sprintf(format, args...), next))
}

func (f *faults) count() int { return len(f.list) + f.more }

func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return &Error{List: inOrderOfPlace(f.list), More: f.more}
}

// inOrderOfPlace sorts the errors of one file from top to bottom; the files keep their order.
func inOrderOfPlace(list []Diagnostic) []Diagnostic {
	files := map[string]int{}
	for _, d := range list {
		if _, known := files[d.File]; !known {
			files[d.File] = len(files)
		}
	}
	slices.SortStableFunc(list, func(a, b Diagnostic) int {
		return cmp.Or(files[a.File]-files[b.File], a.Line-b.Line, a.Column-b.Column)
	})
	return list
}
