package manifest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// parseHCL reads a whole file: an object whose fields are its blocks, in order.
func parseHCL(src *source, find lookup, f *faults) *node {
	if len(src.text) > maxHCL {
		f.at(src, span{}, "split it into several files", "the file is longer than %d bytes", maxHCL)
		return nil
	}
	before := f.count()
	text := substitute(src, find, f)
	if f.count() > before {
		return nil // errors that follow from an unset variable are not worth reporting
	}
	if over := beyondBounds(text); over != nil {
		f.at(src, span{src.written(over.at), src.written(over.at) + 1}, over.next, "%s", over.what)
		return nil
	}
	file, diags := hclsyntax.ParseConfig(text, src.name, hclStart)
	r := &hclReader{src: src, text: text, faults: f}
	if diags.HasErrors() {
		r.diagnostics(diags)
		return nil
	}
	return r.body(file.Body.(*hclsyntax.Body))
}

// hclReader turns HCL's tree into nodes.
type hclReader struct {
	src *source
	// text is the text of src with its variables replaced, as the parser read it.
	text   []byte
	faults *faults
}

func (r *hclReader) span(at hcl.Range) span {
	s := span{r.src.written(at.Start.Byte), r.src.written(at.End.Byte)}
	s.end = max(s.end, s.start)
	return s
}

func (r *hclReader) fail(at hcl.Range, next, format string, args ...any) *node {
	r.faults.at(r.src, r.span(at), next, format, args...)
	return nil
}

// diagnostics reports only the first of HCL's own diagnostics: the others mostly follow from it.
func (r *hclReader) diagnostics(diags hcl.Diagnostics) {
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		at := hcl.Range{}
		if d.Subject != nil {
			at = *d.Subject
		}
		if unclosedQuote[d.Summary] {
			r.faults.at(r.src, r.quote(at), "", "the quote opened here isn't closed on this line")
			return
		}
		if oneLine[d.Summary] {
			r.faults.at(r.src, r.span(at), "write each field and each block on a line of its own",
				"a block on one line holds one field, and nothing follows it but its closing brace")
			return
		}
		place, text := r.span(at), strings.ToLower(d.Summary)+": "+d.Detail
		next := r.nextForSyntax(d, place.start)
		if plain := r.inWords(d, place.start); plain != "" && next != "" {
			text = plain
		}
		r.faults.at(r.src, place, next, "%s", text)
		return
	}
}

// unclosedQuote are HCL's names for a text whose quote isn't closed.
var unclosedQuote = map[string]bool{"Invalid multi-line string": true, "Unterminated template string": true}

// oneLine holds HCL's messages about a block on one line that has more than one field.
var oneLine = map[string]bool{
	"Invalid single-argument block definition": true, "Argument definition required": true,
}

// quote returns the place of the quote that opens the faulty text: the last one on its line that is still open.
func (r *hclReader) quote(at hcl.Range) span {
	found := r.span(at)
	begin := bytes.LastIndexByte(r.src.text[:min(found.start, len(r.src.text))], '\n') + 1
	open, end := -1, begin
	for ; end < len(r.src.text) && r.src.text[end] != '\n'; end++ {
		switch {
		case r.src.text[end] == '\\':
			end++
		case r.src.text[end] == '"' && open < 0:
			open = end
		case r.src.text[end] == '"':
			open = -1
		}
	}
	if open < 0 {
		return found
	}
	return span{open, open + 1}
}

// body reads attributes and blocks in the order they are written.
func (r *hclReader) body(body *hclsyntax.Body) *node {
	n := &node{kind: objectNode, at: r.span(body.SrcRange)}
	for _, item := range inOrder(body) {
		switch {
		case item.attribute != nil:
			value := r.expr(item.attribute.Expr)
			if value != nil {
				n.fields = append(n.fields, field{key: item.attribute.Name, at: r.span(item.attribute.NameRange), value: value})
			}
		default:
			value := r.body(item.block.Body)
			value.block = true
			value.at = r.span(item.block.TypeRange)
			for i, text := range item.block.Labels {
				value.labels = append(value.labels, label{text: text, at: r.span(item.block.LabelRanges[i])})
			}
			n.fields = append(n.fields, field{key: item.block.Type, at: r.span(item.block.TypeRange), value: value})
		}
	}
	return n
}

// expr reads a value. Manifests have no HCL variables and no functions; an expression that looks like one gets a
// specific error.
func (r *hclReader) expr(expr hclsyntax.Expression) *node {
	switch e := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return r.expr(e.Expression)
	case *hclsyntax.TupleConsExpr:
		return r.list(e)
	case *hclsyntax.ObjectConsExpr:
		return r.object(e)
	case *hclsyntax.FunctionCallExpr:
		if e.Name == "file" || e.Name == "url" {
			return r.call(e)
		}
		return r.fail(e.Range(), "", "there are no functions in manifests")
	case *hclsyntax.ScopeTraversalExpr:
		name := e.Traversal.RootName()
		return r.fail(e.Range(), fmt.Sprintf("for text write %q; for a variable of your environment \"${%s}\"", name, name),
			"%s is not a value", name)
	}
	if loop := loopIn(expr); loop != nil {
		return r.fail(loop.Range(), "write the values themselves", "there are no loops in manifests")
	}
	if e := zeroDivisionIn(expr); e != nil {
		return r.fail(e.Range(), "", "it divides by 0")
	}
	value, diags := expr.Value(nil)
	if diags.HasErrors() {
		if call := within(expr, func(*hclsyntax.FunctionCallExpr) bool { return true }); call != nil {
			return r.fail(call.Range(), "", "there are no functions in manifests")
		}
		r.diagnostics(diags)
		return nil
	}
	return r.scalar(expr, value)
}

// call keeps a function call for the decoder, which knows where one is permitted.
func (r *hclReader) call(e *hclsyntax.FunctionCallExpr) *node {
	n := &node{kind: callNode, text: e.Name, at: r.span(e.Range())}
	for _, arg := range e.Args {
		value := r.expr(arg)
		if value == nil {
			return nil // reported
		}
		n.items = append(n.items, value)
	}
	return n
}

func (r *hclReader) list(e *hclsyntax.TupleConsExpr) *node {
	n := &node{kind: listNode, at: r.span(e.Range())}
	for _, item := range e.Exprs {
		if value := r.expr(item); value != nil {
			n.items = append(n.items, value)
		}
	}
	return n
}

func (r *hclReader) object(e *hclsyntax.ObjectConsExpr) *node {
	n := &node{kind: objectNode, at: r.span(e.Range())}
	given := map[string]bool{}
	for _, item := range e.Items {
		key, diags := item.KeyExpr.Value(nil)
		if diags.HasErrors() {
			r.diagnostics(diags)
			continue
		}
		if key.IsNull() || !key.Type().IsPrimitiveType() {
			r.fail(item.KeyExpr.Range(), "", "a key is text")
			continue
		}
		name := r.scalar(keyExpr(item.KeyExpr), key)
		if name == nil {
			continue // reported
		}
		if given[name.text] {
			r.fail(item.KeyExpr.Range(), "keep one of them", "%q is given twice", name.text)
			continue
		}
		given[name.text] = true
		if value := r.expr(item.ValueExpr); value != nil {
			n.fields = append(n.fields, field{key: name.text, at: name.at, value: value})
		}
	}
	return n
}
