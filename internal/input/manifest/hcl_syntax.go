package manifest

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tend.dev/tend/api/pattern"
)

// HCL's names for what is wrong with a text that can have a next step.
const (
	noNewline      = "Missing newline after argument"
	noNewlineBlock = "Missing newline after block definition"
	noDefinition   = "Argument or block definition required"
	wrongBlock     = "Invalid block definition"
	noItemComma    = "Missing item separator"
	noPairComma    = "Missing attribute separator"
	unclosedBlock  = "Unclosed configuration block"
	wrongValue     = "Invalid expression"
	wrongTemplate  = "Invalid template control keyword"
)

// inPlainWords holds what is wrong in place of HCL's own text, where a next step follows.
var inPlainWords = map[string]string{
	noNewline:      "the field ends here, and more follows on its line",
	noNewlineBlock: "the block ends here, and more follows on its line",
	noDefinition:   "this begins neither a field nor a block",
	wrongBlock:     "a block goes on with { on this line",
	noItemComma:    "no comma separates this value from the one before it",
	noPairComma:    "neither a comma nor a new line separates this pair from the one before it",
	unclosedBlock:  "the block that begins here isn't closed",
	wrongValue:     "a value is missing here",
	wrongTemplate:  "%{ begins a directive of HCL's templates, and this is not one of them",
}

var (
	fieldStart  = pattern.Lazy(`^\s*([A-Za-z_][A-Za-z0-9_-]*)\s*([=:]?)\s*(.?)`)
	fieldBegins = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_-]*\s*=`)
	braceBelow  = pattern.Lazy(`^\s*\n\s*\{`)
)

// inWords returns what is wrong at an offset for HCL's own error; empty if HCL's text serves better.
func (r *hclReader) inWords(d *hcl.Diagnostic, at int) string {
	rest := r.src.text[min(at, len(r.src.text)):]
	switch {
	case d.Summary == noItemComma && fieldBegins().Match(rest):
		return "a field begins here, and the list before it isn't closed"
	case (d.Summary == noItemComma || d.Summary == noPairComma) && bytes.HasPrefix(rest, []byte(":")):
		return "the value ends here, and more of it follows"
	}
	return inPlainWords[d.Summary]
}

// nextForSyntax returns the next step for HCL's own error at an offset; empty if its text says it. It names fields,
// never their values: some may be secret.
func (r *hclReader) nextForSyntax(d *hcl.Diagnostic, at int) string {
	text := r.src.text
	at = min(at, len(text))
	line, _, _ := bytes.Cut(text[bytes.LastIndexByte(text[:at], '\n')+1:], []byte("\n"))
	field := fieldStart().FindSubmatch(line)
	switch d.Summary {
	case noNewline:
		if field != nil && !strings.ContainsAny(string(field[3]), "\"[{0123456789") {
			return "put text between quotes: " + string(field[1]) + ` = "…"`
		}
		return "write each field on a line of its own"
	case noNewlineBlock:
		return "write each block on a line of its own; a second } closes nothing"
	case noDefinition:
		switch {
		case bytes.HasPrefix(text[at:], []byte("/*")):
			return "close the comment with */"
		case field != nil && string(field[2]) == ":":
			return "write " + string(field[1]) + " = …: HCL has = where YAML has a colon"
		}
	case wrongBlock:
		return nextForBlock(text[at:], field)
	case noItemComma, noPairComma:
		return nextForSeparator(text[at:], d.Summary)
	case unclosedBlock:
		return "add the } that closes it, or the one that is missing within it"
	case wrongTemplate:
		return "for the characters themselves write %%{"
	case wrongValue:
		return "write a value: text between quotes, a number, true, false, [ … ] or { … }"
	}
	return ""
}

// nextForSeparator returns the next step for a list or a map whose next part HCL refuses, given the text from there on.
func nextForSeparator(rest []byte, summary string) string {
	switch {
	case bytes.HasPrefix(rest, []byte(":")):
		return "put text that holds a colon between quotes"
	case summary == noPairComma:
		return "put a comma or a new line between two pairs, and } behind the last"
	case fieldBegins().Match(rest):
		return "add the ] that closes the list"
	}
	return "put a comma between two values, and ] behind the last"
}

// nextForBlock returns the next step for a block's head that HCL refuses, given the text from there on.
func nextForBlock(rest []byte, field [][]byte) string {
	switch {
	case braceBelow().Match(rest):
		return "put the { on the same line, behind the labels"
	case bytes.HasPrefix(rest, []byte(",")):
		return "leave the comma out: spaces separate the labels"
	case bytes.HasPrefix(rest, []byte("=")):
		return "leave the = out: a block's { stands behind its labels"
	case field != nil:
		return "write " + string(field[1]) + " = … for a field, or { behind the labels for a block"
	}
	return ""
}
