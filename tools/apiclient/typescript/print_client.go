package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// client prints the class with a method for each answer of each operation.
func (w *writer) client(doc *document) {
	w.line("/** Calls the operations of %s. A method takes the body first, then the parameters. */", doc.title)
	w.line("export class Client {")
	w.line("  private readonly transport: Transport;")
	w.line("")
	w.line("  constructor(options: ClientOptions) {")
	w.line("    this.transport = new Transport(options);")
	w.line("  }")
	for _, o := range doc.operations {
		name := o.methodName()
		if o.whole != nil {
			w.method(o, name, *o.whole)
			name += streamSuffix
		}
		if o.stream != nil {
			w.method(o, name, *o.stream)
		}
	}
	w.line("}")
}

// method prints the method that calls an operation and reads one kind of answer.
func (w *writer) method(o operation, name string, a answer) {
	read, returns := a.reader()
	w.line("")
	w.doc("  ", o.summary, fmt.Sprintf("%s %s (%s)", o.method, o.path, a.doc))
	w.line("  %s(%s): %s {", name, strings.Join(o.arguments(a), ", "), returns)
	w.line("    return this.transport.%s({", read)
	w.line("      method: %q,", o.method)
	w.line("      path: path`%s`,", o.pathTemplate())
	if len(o.query) > 0 {
		w.line("      query: {")
		for _, p := range o.query {
			w.line("        %s: %s,", key(p.name), access("parameters", p.name))
		}
		w.line("      },")
	}
	if o.body != nil {
		w.line("      body: %s,", o.body.content())
	}
	if a.form == socket {
		w.line("    });")
	} else {
		w.line("      media: %q,", a.media)
		w.line("      statuses: %s,", strings.ReplaceAll(fmt.Sprint(a.statuses), " ", ", "))
		w.line("    }, options);")
	}
	w.line("  }")
}

// reader returns the transport's method that reads the answer, with the type of its values, and the return type.
func (a answer) reader() (read, returns string) {
	switch a.form {
	case inJSON:
		return "json<" + printType(a.is) + ">", "Promise<" + printType(a.is) + ">"
	case inLines:
		return "lines<" + printType(a.is) + ">", "AsyncGenerator<" + printType(a.is) + ", void, undefined>"
	case inText:
		return "text", "Promise<string>"
	case inBytes:
		return "bytes", "Promise<ReadableStream<Uint8Array>>"
	case empty:
		return "empty", "Promise<void>"
	case socket:
		return "socket", "URL"
	}
	panic("no such form: " + strconv.Itoa(int(a.form)))
}

// arguments returns the declarations of a method's parameters.
func (o operation) arguments(a answer) []string {
	var out []string
	if o.body != nil {
		out = append(out, "body: "+o.body.argument())
	}
	if all := o.parameters(); len(all) > 0 {
		parameters := "parameters: " + o.parametersName()
		if !slices.ContainsFunc(all, func(p field) bool { return !p.optional }) {
			parameters += " = {}"
		}
		out = append(out, parameters)
	}
	if a.form != socket {
		out = append(out, "options?: CallOptions")
	}
	return out
}

// argument returns the type of the body that a caller passes.
func (b body) argument() string {
	switch {
	case b.bytes != "":
		return "Blob | BufferSource"
	case b.text != "":
		return printType(b.json) + " | string"
	}
	return printType(b.json)
}

// content returns the expression that makes the request's body of the argument.
func (b body) content() string {
	switch {
	case b.bytes != "":
		return fmt.Sprintf("{ media: %q, content: body }", b.bytes)
	case b.text != "":
		return fmt.Sprintf("textOrJSON(body, %q)", b.text)
	}
	return "asJSON(body)"
}

// pathTemplate returns the path as a template of TypeScript, with expressions for its parameters.
func (o operation) pathTemplate() string {
	template := o.path
	for _, p := range o.segments {
		template = strings.ReplaceAll(template, "{"+p.name+"}", "${"+access("parameters", p.name)+"}")
	}
	return template
}
