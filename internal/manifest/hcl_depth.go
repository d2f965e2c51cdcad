package manifest

import "github.com/hashicorp/hcl/v2/hclsyntax"

// HCL's parser recurses without a limit of its own: into brackets and templates, and along a chain of operators. These
// limits are far beyond any manifest and far below what overflows the stack.
const (
	maxBrackets = 200
	maxChain    = 2000
	maxControls = 2000
)

// depthGauge follows the tokens of a text. A chain is what may be one expression: it ends at a comma, and at the end of
// a line if the innermost bracket is that of a body.
type depthGauge struct {
	open     []hclsyntax.TokenType
	chain    int
	controls int
}

// tooDeep returns the offset at which a text nests too deep to be parsed, or -1.
func tooDeep(text []byte) int {
	tokens, _ := hclsyntax.LexConfig(text, "", hclStart)
	var g depthGauge
	for _, token := range tokens {
		g.take(token.Type)
		if len(g.open) > maxBrackets || g.chain > maxChain || g.controls > maxControls {
			return token.Range.Start.Byte
		}
	}
	return -1
}

func (g *depthGauge) take(t hclsyntax.TokenType) {
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
	case hclsyntax.TokenOQuote, hclsyntax.TokenCQuote, hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit,
		hclsyntax.TokenOHeredoc, hclsyntax.TokenCHeredoc:
	default:
		g.chain++
	}
}
