package main

import (
	"fmt"
	"strconv"
	"strings"
)

// printType returns a type as an expression.
func printType(is typ) string {
	switch is := is.(type) {
	case unknown:
		return "unknown"
	case primitive:
		return string(is)
	case named:
		return string(is)
	case literals:
		var quoted []string
		for _, text := range is {
			quoted = append(quoted, strconv.Quote(text))
		}
		return strings.Join(quoted, " | ")
	case union:
		var alternatives []string
		for _, one := range is {
			alternatives = append(alternatives, printType(one))
		}
		return strings.Join(alternatives, " | ")
	case array:
		of := printType(is.of)
		if strings.Contains(of, " | ") {
			of = "(" + of + ")"
		}
		return of + "[]"
	case table:
		return "{ [key: string]: " + printType(is.of) + " }"
	case record:
		return printRecord(is)
	}
	panic(fmt.Sprintf("no such type: %T", is)) // typ is sealed
}

// printRecord returns a record on one line, for records within other types.
func printRecord(is record) string {
	var members []string
	for _, f := range is.fields {
		members = append(members, printField(f))
	}
	if is.open {
		members = append(members, openMember)
	}
	if len(members) == 0 {
		return "{ [key: string]: never }"
	}
	return "{ " + strings.Join(members, "; ") + " }"
}

// openMember declares the fields that the document doesn't name.
const openMember = "[key: string]: unknown"

func printField(f field) string {
	mark := ""
	if f.optional {
		mark = "?"
	}
	return key(f.name) + mark + ": " + printType(f.is)
}

// schema prints the declaration of a schema: an interface for a record.
func (w *writer) schema(s schema) {
	w.doc("", s.doc)
	is, ok := s.is.(record)
	if !ok || len(is.fields) == 0 {
		w.line("export type %s = %s;", s.name, printType(s.is))
		return
	}
	w.fields(s.name, is.fields, is.open)
}

// fields prints an interface.
func (w *writer) fields(name string, fields []field, open bool) {
	w.line("export interface %s {", name)
	for _, f := range fields {
		w.doc("  ", f.doc)
		w.line("  %s;", printField(f))
	}
	if open {
		w.line("  %s;", openMember)
	}
	w.line("}")
}
