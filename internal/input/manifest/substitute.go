package manifest

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tend.dev/tend/api/pattern"
)

// substituter reads HCL text once and replaces variables. It tracks just enough of HCL's syntax: the same ${NAME} has
// no meaning in a comment, and its value must not end the string around it.
type substituter struct {
	src    *source
	find   lookup
	faults *faults
	out    bytes.Buffer
	at     int
	stack  []frame
	// closing is the offset of the first brace or line end from closingFrom on, if it is not 0.
	closing, closingFrom int
}

// frame is the context of the current position.
type frame struct {
	mode   mode
	marker string // of a heredoc
	braces int    // open in a template
}

// mode is the part of HCL's syntax that the substituter is in.
type mode int

const (
	bare mode = iota
	quoted
	heredoc
	template // inside ${ } or %{ } of a string
)

// substitute returns the text to parse, and records in src how to map positions back.
func substitute(src *source, find lookup, f *faults) []byte {
	s := &substituter{src: src, find: find, faults: f, stack: []frame{{mode: bare}}}
	for s.at < len(src.text) {
		switch s.top().mode {
		case quoted:
			s.stepQuoted()
		case heredoc:
			s.stepHeredoc()
		default:
			s.stepBare()
		}
	}
	return s.out.Bytes()
}

func (s *substituter) top() *frame       { return &s.stack[len(s.stack)-1] }
func (s *substituter) rest() []byte      { return s.src.text[s.at:] }
func (s *substituter) has(p string) bool { return bytes.HasPrefix(s.rest(), []byte(p)) }

// nextClosing returns the offset of the next brace or line end from an offset after at. All calls together read the
// text once.
func (s *substituter) nextClosing(from int) int {
	begin := s.at + from
	if begin < s.closingFrom || begin > s.closing {
		s.closingFrom, s.closing = begin, begin+closingIn(s.src.text[begin:])(0)
	}
	return s.closing - s.at
}

func (s *substituter) push(f frame) { s.stack = append(s.stack, f) }

func (s *substituter) pop() {
	if len(s.stack) > 1 {
		s.stack = s.stack[:len(s.stack)-1]
	}
}

// keep copies n bytes unchanged.
func (s *substituter) keep(n int) {
	n = min(n, len(s.src.text)-s.at)
	s.out.Write(s.src.text[s.at : s.at+n])
	s.at += n
}

// keepThrough copies up to and including the next occurrence of a mark, or the rest.
func (s *substituter) keepThrough(mark string) {
	i := bytes.Index(s.rest(), []byte(mark))
	if i < 0 {
		s.keep(len(s.rest()))
		return
	}
	s.keep(i + len(mark))
}

// replace writes text for the next n bytes.
func (s *substituter) replace(n int, text string) {
	if s.out.Len()+len(text) > maxHCL {
		s.faults.at(s.src, span{s.at, s.at + n}, "use fewer or shorter variables",
			"with the values of its variables, the file is longer than %d bytes", maxHCL)
		s.at = len(s.src.text) // the rest is not looked at
		return
	}
	start := s.out.Len()
	s.out.WriteString(text)
	s.src.edits = append(s.src.edits, edit{start: s.at, end: s.at + n, newStart: start, newEnd: s.out.Len()})
	s.at += n
}

var heredocStart = pattern.Lazy(`^<<-?([\p{L}_][\p{L}\p{N}_-]*)\r?\n`)

func (s *substituter) stepBare() {
	inTemplate := s.top().mode == template
	switch c := s.src.text[s.at]; {
	case c == '#', s.has("//"):
		s.keepThrough("\n")
	case s.has("/*"):
		s.keepThrough("*/")
	case c == '"':
		s.push(frame{mode: quoted})
		s.keep(1)
	case c == '<' && heredocStart().Match(s.rest()):
		match := heredocStart().FindSubmatch(s.rest())
		s.push(frame{mode: heredoc, marker: string(match[1])})
		s.keep(len(match[0]))
	case c == '$' && s.variable(bareLiteral):
	case c == '{' && inTemplate:
		s.top().braces++
		s.keep(1)
	case c == '}' && inTemplate:
		s.top().braces--
		s.keep(1)
		if s.top().braces == 0 {
			s.pop()
		}
	default:
		s.keep(1)
	}
}

func (s *substituter) stepQuoted() {
	switch c := s.src.text[s.at]; {
	case c == '\\':
		s.keep(2)
	case c == '"', c == '\n':
		s.pop()
		s.keep(1)
	default:
		s.stepString(quotedLiteral)
	}
}

func (s *substituter) stepHeredoc() {
	if s.at == 0 || s.src.text[s.at-1] == '\n' {
		line, _, _ := bytes.Cut(s.rest(), []byte("\n"))
		if strings.TrimSpace(string(line)) == s.top().marker {
			s.pop()
			s.keep(len(line))
			return
		}
	}
	s.stepString(heredocLiteral)
}

// stepString advances by one step inside a string of either kind.
func (s *substituter) stepString(render func(string) (string, bool)) {
	switch {
	case s.has("$${"), s.has("%%{"):
		s.keep(3)
	case s.has("${") && s.variable(render):
	case s.has("${") && referenceIn(s.rest(), s.nextClosing):
		s.replace(1, "$$") // the escape that keeps HCL from evaluating it
	case s.has("${"), s.has("%{"):
		s.push(frame{mode: template, braces: 1})
		s.keep(2)
	default:
		s.keep(1)
	}
}

// variable replaces the ${NAME} that begins here; it returns false if none does.
func (s *substituter) variable(render func(string) (string, bool)) bool {
	v, found := bracedIn(s.rest(), s.nextClosing)
	if !found {
		return false
	}
	here := span{s.at, s.at + v.length}
	value, raw, ok := v.expand(s.find)
	switch {
	case v.nested():
		s.faults.at(s.src, here, "write the inner variable's own default in its place",
			"the default of ${%s} holds another variable; defaults don't nest", v.name)
		s.keep(v.length)
	case !ok:
		s.missing(here, v.name)
	case !utf8.ValidString(value):
		addNoText(s.faults, s.src, here, v.name)
		s.replace(v.length, "0")
	case raw:
		s.replace(v.length, value)
	default:
		text, fits := render(value)
		if !fits {
			s.faults.at(s.src, here, `put it in quotes, "${`+v.name+`}", for text`,
				"the value of ${%s} is not a number, true, false, a quoted text or a list of them", v.name)
			text = "null"
		}
		s.replace(v.length, text)
	}
	return true
}

func (s *substituter) missing(here span, name string) {
	addMissing(s.faults, s.src, here, name)
	s.replace(here.end-here.start, "0")
}

func addMissing(f *faults, src *source, here span, name string) {
	f.at(src, here, "set it in your environment or with `tend config set SCOPE/NAME "+name+"=…`, or give a default: ${"+
		name+":-…}; for the characters themselves write $${"+name+"}", "variable %s is not set", name)
}

// addNoText reports a variable whose value JSON would change.
func addNoText(f *faults, src *source, here span, name string) {
	f.at(src, here, "mount a file for binary data: an asset", "the value of ${%s} is not UTF-8 text", name)
}

// quotedLiteral escapes text for use between quotes, so that no value can end the string or begin a template.
func quotedLiteral(value string) (string, bool) {
	return strings.NewReplacer(
		`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "$", `\u0024`, "%", `\u0025`,
	).Replace(value), true
}

// heredocLiteral escapes text for a heredoc, which has no backslash escapes: it returns a template with a quoted
// literal.
func heredocLiteral(value string) (string, bool) {
	text, _ := quotedLiteral(value)
	return `${"` + text + `"}`, true
}

// bareLiteral returns a value outside of quotes. It must be a complete literal by itself, so that no value can add an
// attribute or a block. bareLiteral formats it again from what was parsed.
func bareLiteral(value string) (string, bool) {
	if beyondBounds([]byte(value)) != nil {
		return "", false
	}
	expr, diags := hclsyntax.ParseExpression([]byte(value), "", hclStart)
	if diags.HasErrors() || !literal(expr) {
		return "", false
	}
	return writeLiteral(expr, []byte(value))
}
