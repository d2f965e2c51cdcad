package manifest

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

var hclStart = hcl.Pos{Line: 1, Column: 1}

// literal reports whether an expression is a number, true, false, null, a text without templates, or a list of such.
func literal(expr hclsyntax.Expression) bool {
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		return true
	case *hclsyntax.TemplateExpr:
		return e.IsStringLiteral() || len(e.Parts) == 0
	case *hclsyntax.UnaryOpExpr:
		return e.Op == hclsyntax.OpNegate && numberLiteral(e.Val)
	case *hclsyntax.TupleConsExpr:
		return !slices.ContainsFunc(e.Exprs, func(item hclsyntax.Expression) bool { return !literal(item) })
	}
	return false
}

// writeLiteral writes a literal as one line of HCL. source is the text that it was parsed from.
func writeLiteral(expr hclsyntax.Expression, source []byte) (string, bool) {
	if list, ok := expr.(*hclsyntax.TupleConsExpr); ok {
		parts := make([]string, 0, len(list.Exprs))
		for _, item := range list.Exprs {
			part, fits := writeLiteral(item, source)
			if !fits {
				return "", false
			}
			parts = append(parts, part)
		}
		return "[" + strings.Join(parts, ", ") + "]", true
	}
	if number, ok := writtenNumber(expr, source); ok {
		return number, true
	}
	value, diags := expr.Value(nil)
	if diags.HasErrors() {
		return "", false
	}
	if value.IsNull() {
		return "null", true
	}
	text, err := convert.Convert(value, cty.String)
	if err != nil {
		return "", false
	}
	if value.Type() != cty.String {
		return text.AsString(), true
	}
	quoted, _ := quotedLiteral(text.AsString())
	return `"` + quoted + `"`, true
}
