package main

import (
	_ "embed"
	"fmt"
	"strings"
)

// runtime is the part of a client that doesn't depend on the document.
//
//go:embed runtime.ts
var runtime string

// printClient returns the client of a document.
func printClient(doc *document) string {
	var w writer
	w.line("// A client of %s %s, generated from its OpenAPI document. Do not edit it: generate it again.",
		doc.title, doc.version)
	w.line("")
	for _, s := range doc.schemas {
		w.schema(s)
		w.line("")
	}
	for _, o := range doc.operations {
		if len(o.parameters()) > 0 {
			w.line("/** The parameters of {@link Client.%s}. */", o.methodName())
			w.fields(o.parametersName(), o.parameters(), false)
			w.line("")
		}
	}
	w.line("/** The body of an error. */")
	w.line("export type ProblemBody = %s;", printType(doc.problem))
	w.line("")
	w.WriteString(runtime)
	w.line("")
	w.client(doc)
	return w.String()
}

// writer collects the lines of a client.
type writer struct{ strings.Builder }

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteString("\n")
}

// doc prints a comment of some paragraphs; nothing if all are empty.
func (w *writer) doc(indent string, paragraphs ...string) {
	var lines []string
	for _, paragraph := range paragraphs {
		if paragraph == "" {
			continue
		}
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, strings.Split(strings.ReplaceAll(paragraph, "*/", "*\\/"), "\n")...)
	}
	switch len(lines) {
	case 0:
	case 1:
		w.line("%s/** %s */", indent, lines[0])
	default:
		w.line("%s/**", indent)
		for _, text := range lines {
			w.line("%s", strings.TrimRight(indent+" * "+text, " "))
		}
		w.line("%s */", indent)
	}
}
