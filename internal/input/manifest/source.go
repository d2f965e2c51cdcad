package manifest

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a piece of the user's text, in bytes.
type span struct{ start, end int }

// source is a text as its author wrote it, with the data for reporting positions in it.
type source struct {
	name string
	// dir is the folder to which relative paths in the text are relative.
	dir  string
	text []byte
	// lines are the offsets at which lines begin.
	lines []int
	// edits map the text that was parsed back to the text that was written.
	edits []edit
	// runes caches the offsets of the characters of long lines, by the line's own offset.
	runes map[int][]int
}

// edit records that [newStart,newEnd) of the parsed text replaces [start,end) of the written one.
type edit struct {
	start, end       int
	newStart, newEnd int
}

func newSource(name, dir string, text []byte) *source {
	s := &source{name: name, dir: dir, text: text, lines: []int{0}}
	for i, b := range text {
		if b == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// written maps an offset of the parsed text to the written one.
func (s *source) written(offset int) int {
	i := sort.Search(len(s.edits), func(i int) bool { return s.edits[i].newEnd > offset })
	if i < len(s.edits) && offset >= s.edits[i].newStart {
		return s.edits[i].start
	}
	if i == 0 {
		return min(offset, len(s.text))
	}
	last := s.edits[i-1]
	return min(last.end+offset-last.newEnd, len(s.text))
}

// offset returns the offset of a line and column (in characters, both from 1) in the text.
func (s *source) offset(line, column int) int {
	line = min(max(line, 1), len(s.lines))
	characters := s.characters(line)
	return characters[min(max(column, 1), len(characters))-1]
}

func (s *source) position(offset int) Position {
	offset = min(max(offset, 0), len(s.text))
	line := sort.SearchInts(s.lines, offset+1)
	return Position{File: s.name, Line: line, Column: sort.SearchInts(s.characters(line), offset) + 1}
}

// longText is the length in bytes from which a line's character offsets are cached, so that each position doesn't read
// the line again.
const longText = 256

// characters returns the offsets of the characters of a line, and the offset of its end.
func (s *source) characters(line int) []int {
	begin := s.lines[line-1]
	if known := s.runes[begin]; known != nil {
		return known
	}
	end := len(s.text)
	if line < len(s.lines) {
		end = s.lines[line] - 1
	}
	var out []int
	for at := begin; at < end; {
		out = append(out, at)
		_, size := utf8.DecodeRune(s.text[at:end])
		at += size
	}
	out = append(out, end)
	if end-begin >= longText {
		if s.runes == nil {
			s.runes = map[int][]int{}
		}
		s.runes[begin] = out
	}
	return out
}

func (s *source) diagnostic(at span, summary, next string) Diagnostic {
	return Diagnostic{Position: s.position(at.start), Summary: summary, Next: next, Snippet: s.snippet(at)}
}

// Bounds of a snippet, in characters.
const (
	maxSnippet = 120
	snippetLed = 40
)

// snippet returns the line of a span with a caret under its beginning and tildes to its end. Long lines are cut around
// it.
func (s *source) snippet(at span) string {
	position := s.position(at.start)
	begin := s.lines[position.Line-1]
	line, _, _ := bytes.Cut(s.text[begin:], []byte("\n"))
	text := []rune(strings.ToValidUTF8(strings.TrimRight(string(line), "\r"), "\uFFFD"))
	column := min(position.Column-1, len(text))
	width := 1
	if at.end > at.start {
		width = utf8.RuneCount(s.text[at.start:min(at.end, begin+len(line), len(s.text))])
	}
	if column > maxSnippet-snippetLed {
		text, column = text[column-snippetLed:], snippetLed
	}
	text = text[:min(len(text), maxSnippet)]
	width = max(min(width, len(text)-column), 1)
	number := fmt.Sprintf("%5d", position.Line)
	margin := strings.Repeat(" ", len(number))
	return fmt.Sprintf("%s | %s\n%s | %s^%s", number, printable(text), margin, padding(text[:column]),
		strings.Repeat("~", width-1))
}

// padding keeps tabs, so that the caret is below its character on a terminal.
func padding(text []rune) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return '\t'
		}
		return ' '
	}, string(text))
}

// printable replaces the characters of a text that control a terminal.
func printable(text []rune) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && Controls(r) {
			return '\uFFFD'
		}
		return r
	}, string(text))
}

// Controls reports whether a character changes how a terminal shows others: control characters do, and invisible ones
// such as U+202E, which reverses the direction of the text.
func Controls(r rune) bool {
	return r < ' ' || r >= 0x7f && r <= 0x9f || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}
