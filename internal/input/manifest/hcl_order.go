package manifest

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// hclItem is an attribute or a block.
type hclItem struct {
	attribute *hclsyntax.Attribute
	block     *hclsyntax.Block
	start     int
}

// inOrder lists a body in the order it is written, so that errors are reported from top to bottom.
func inOrder(body *hclsyntax.Body) []hclItem {
	items := make([]hclItem, 0, len(body.Attributes)+len(body.Blocks))
	for _, attribute := range body.Attributes {
		items = append(items, hclItem{attribute: attribute, start: attribute.SrcRange.Start.Byte})
	}
	for _, block := range body.Blocks {
		items = append(items, hclItem{block: block, start: block.TypeRange.Start.Byte})
	}
	slices.SortFunc(items, func(a, b hclItem) int { return a.start - b.start })
	return items
}

// scalar turns an expression and its value into a node. It refuses values that only expressions can produce (a
// conditional of lists), so that the stored value is the written one.
func (r *hclReader) scalar(expr hclsyntax.Expression, value cty.Value) *node {
	at := r.span(expr.Range())
	if value.IsNull() {
		return &node{kind: nullNode, at: at}
	}
	if !value.IsKnown() || !value.Type().IsPrimitiveType() {
		r.faults.at(r.src, at, "write the value itself", "a computed list or object is not supported")
		return nil
	}
	if value.Type() == cty.Number && !inRange(value) {
		r.faults.at(r.src, at, "", "the number is too large, or too close to 0")
		return nil
	}
	if text, literal := writtenNumber(expr, r.text); literal {
		return &node{kind: numberNode, text: text, at: at}
	}
	if number, short := shortenedIn(expr, r.text); number != nil {
		return r.fail(number.Range(), "write "+short+", or the whole value as one text in quotes",
			"%s counts as %s in an expression", number.Range().SliceBytes(r.text), short)
	}
	kind := map[cty.Type]nodeKind{cty.Bool: boolNode, cty.Number: numberNode, cty.String: textNode}[value.Type()]
	text, err := convert.Convert(value, cty.String)
	if err != nil {
		r.faults.at(r.src, at, "", "%s", err)
		return nil
	}
	return &node{kind: kind, text: text.AsString(), at: at}
}

// keyExpr returns the expression of a table's key.
func keyExpr(expr hclsyntax.Expression) hclsyntax.Expression {
	if key, ok := expr.(*hclsyntax.ObjectConsKeyExpr); ok {
		expr = key.Wrapped
	}
	if inner, ok := expr.(*hclsyntax.ParenthesesExpr); ok {
		return inner.Expression
	}
	return expr
}
