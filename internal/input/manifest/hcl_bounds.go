package manifest

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Limits on a text in HCL, far above any manifest. HCL's parser recurses without a limit into brackets, templates and
// chains of operators: the first three limits are far below what overflows the stack. It joins the pieces of a text in
// quadratic time: each line of a heredoc is a piece, and any text between dollar signs.
const (
	maxBrackets = 200
	maxChain    = 2000
	maxControls = 2000
	maxTokens   = 400_000
	maxPieces   = 10_000
	maxAllTexts = 100_000
	// maxHCL bounds a text in bytes, with the values of its variables: the whole text is read before it is parsed.
	maxHCL = 4 << 20
)

// gauge follows the tokens of a text. A chain is a run of tokens that may be one expression: it ends at a comma, and at
// the end of a line if the innermost bracket is that of a body.
type gauge struct {
	open     []hclsyntax.TokenType
	chain    int
	controls int
	tokens   int
	// pieces counts the pieces of the innermost text, allPieces those of all texts.
	pieces, allPieces int
}

// excess is the position at which a text exceeds a limit, with that limit.
type excess struct {
	at         int
	what, next string
}

// beyondBounds returns the limit that a text exceeds, or nil.
func beyondBounds(text []byte) *excess {
	tokens, _ := hclsyntax.LexConfig(text, "", hclStart)
	var g gauge
	for _, token := range tokens {
		g.take(token.Type)
		what, next := g.excess()
		if token.Type == hclsyntax.TokenNumberLit && what == "" {
			if err := checkNumber(string(token.Bytes)); err != nil {
				what = err.Error()
			}
		}
		if what != "" {
			return &excess{token.Range.Start.Byte, what, next}
		}
	}
	return nil
}

// excess names the limit that is exceeded, and the next step.
func (g *gauge) excess() (what, next string) {
	switch {
	case len(g.open) > maxBrackets || g.chain > maxChain || g.controls > maxControls:
		return "expressions nest too deep here", ""
	case g.tokens > maxTokens:
		return fmt.Sprintf("the file has more than %d words and signs", maxTokens), "split it into several files"
	case g.pieces > maxPieces:
		return fmt.Sprintf("this text has more than %d lines, or parts between dollar signs", maxPieces),
			`put it into a file: asset "scope" "name" { key = file("path") }`
	case g.allPieces > maxAllTexts:
		return fmt.Sprintf("the texts of the file have more than %d lines, or parts between dollar signs", maxAllTexts),
			`put long texts into files: asset "scope" "name" { key = file("path") }`
	}
	return "", ""
}

// take updates the counts with the next token.
func (g *gauge) take(t hclsyntax.TokenType) {
	g.tokens++
	switch t {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp:
		g.open = append(g.open, t)
		g.chain++
	case hclsyntax.TokenTemplateControl:
		g.open = append(g.open, t)
		g.controls++
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd:
		g.open = g.open[:max(len(g.open)-1, 0)]
	case hclsyntax.TokenComma:
		g.chain = 0
	case hclsyntax.TokenNewline, hclsyntax.TokenComment:
		if len(g.open) == 0 || g.open[len(g.open)-1] == hclsyntax.TokenOBrace {
			g.chain = 0
		}
	case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
		g.pieces = 0
	case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
		g.pieces++
		g.allPieces++
	case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
	default:
		g.chain++
	}
}

// loopIn finds a loop within an expression: of loops in loops, the values are more than anyone has memory for.
func loopIn(expr hclsyntax.Expression) *hclsyntax.ForExpr {
	return within[*hclsyntax.ForExpr](expr, func(*hclsyntax.ForExpr) bool { return true })
}

// zeroDivisionIn finds a division by zero, for which HCL returns a value: infinity, or the dividend as the remainder.
func zeroDivisionIn(expr hclsyntax.Expression) *hclsyntax.BinaryOpExpr {
	return within[*hclsyntax.BinaryOpExpr](expr, func(e *hclsyntax.BinaryOpExpr) bool {
		if e.Op != hclsyntax.OpModulo && e.Op != hclsyntax.OpDivide {
			return false
		}
		by, diags := e.RHS.Value(nil)
		return !diags.HasErrors() && isZero(by)
	})
}

// within returns the first expression of type E inside expr for which holds is true.
func within[E hclsyntax.Node](expr hclsyntax.Expression, holds func(E) bool) (found E) {
	known := false
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		if e, ok := n.(E); ok && !known && holds(e) {
			found, known = e, true
		}
		return nil
	})
	return found
}
