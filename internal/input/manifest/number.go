package manifest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// maxNumber bounds the text of a number: a text with more digits isn't a quantity, and costs more than it looks.
const maxNumber = 100

// checkNumber returns an error for a number that no field of any language can hold: one that is too long, or out of the
// range of a floating-point number. The fields refuse other forms (0x1F, .inf).
func checkNumber(text string) error {
	if len(text) > maxNumber {
		return fmt.Errorf("the number is longer than %d characters", maxNumber)
	}
	value, err := strconv.ParseFloat(text, 64)
	switch mantissa, _, _ := strings.Cut(strings.ToLower(text), "e"); {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("the number %s is too large", text)
	case err == nil && value == 0 && strings.ContainsAny(mantissa, "123456789"):
		return fmt.Errorf("the number %s is too close to 0", text)
	}
	return nil
}

func isZero(value cty.Value) bool {
	return !value.IsNull() && value.IsKnown() && value.Type() == cty.Number && value.AsBigFloat().Sign() == 0
}

// inRange reports whether a computed number can be written in full.
func inRange(value cty.Value) bool {
	number := value.AsBigFloat()
	const most = 1 << 10 // binary digits: as much as a floating-point number
	exponent := number.MantExp(nil)
	return !number.IsInf() && (number.Sign() == 0 || -most < exponent && exponent < most)
}

// writtenNumber returns the text of a number, with the minus before it, as it is in source. HCL's own value has lost
// it: as text, 1.10 is not 1.1 and 0022 is not 22.
func writtenNumber(expr hclsyntax.Expression, source []byte) (text string, ok bool) {
	minus := ""
	if negated, found := expr.(*hclsyntax.UnaryOpExpr); found && negated.Op == hclsyntax.OpNegate {
		minus, expr = "-", negated.Val
	}
	if !numberLiteral(expr) {
		return "", false
	}
	return minus + string(expr.Range().SliceBytes(source)), true
}

func numberLiteral(expr hclsyntax.Expression) bool {
	literal, ok := expr.(*hclsyntax.LiteralValueExpr)
	return ok && literal.Val.Type() == cty.Number && !literal.Val.IsNull()
}

// shortenedIn returns the first number inside an expression that HCL writes differently from source, and how.
func shortenedIn(expr hclsyntax.Expression, source []byte) (number *hclsyntax.LiteralValueExpr, short string) {
	number = within(expr, func(e *hclsyntax.LiteralValueExpr) bool {
		return numberLiteral(e) && hclNumber(e) != string(e.Range().SliceBytes(source))
	})
	if number == nil {
		return nil, ""
	}
	return number, hclNumber(number)
}

// hclNumber returns the text that HCL makes of a number.
func hclNumber(e *hclsyntax.LiteralValueExpr) string {
	text, err := convert.Convert(e.Val, cty.String)
	if err != nil {
		return ""
	}
	return text.AsString()
}
