package failures

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

const (
	columns = 80
	// lineWidth is the width of tend's lines: it leaves the last column free.
	lineWidth = columns - 1
	// hanging is the further indentation of continuation lines.
	hanging = 4
)

// brokenLine returns the first line that the terminal breaks within a word, or "". It has to break a word that is wider
// than the terminal, such as a path: that is allowed.
func brokenLine(text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		runes := []rune(line)
		for edge := columns; edge < len(runes); edge += columns {
			before, after := string(runes[:edge]), string(runes[edge:])
			head := before[strings.LastIndexByte(before, ' ')+1:]
			tail, _, _ := strings.Cut(after, " ")
			if head != "" && tail != "" && width(head+tail) <= columns {
				return line
			}
		}
	}
	return ""
}

// wideLine returns the first line of several words that is wider than the terminal, or "".
func wideLine(text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if width(line) > columns && len(strings.Fields(line)) > 1 {
			return line
		}
	}
	return ""
}

// unwrapped joins the lines that tend has wrapped, so that what is replaced in them may have another length. rewrapped
// wraps them again. A line that was joined by mistake is broken again at the same place, because its first word doesn't
// fit on the line before. The head of a condition is never joined with the message below it: it ends with an age, whose
// length varies.
func unwrapped(text string) string {
	var out []string
	previous, indent := "", -1
	for line := range strings.SplitSeq(text, "\n") {
		body := strings.TrimLeft(line, " ")
		word, _, _ := strings.Cut(body, " ")
		hangs := body != "" && len(line)-len(body) == indent && !conditionHead.MatchString(previous)
		if hangs && width(previous)+1+width(word) > lineWidth {
			out[len(out)-1] += " " + body
		} else {
			out = append(out, line)
			indent = min(len(line)-len(body)+hanging, lineWidth/2)
		}
		previous = line
	}
	return strings.Join(out, "\n")
}

var conditionHead = regexp.MustCompile(`, for [0-9smhd]+$`)

var spacedWord = regexp.MustCompile(` *[^ ]+`)

func rewrapped(line string) string {
	if width(line) <= lineWidth {
		return line
	}
	indent := min(len(line)-len(strings.TrimLeft(line, " "))+hanging, lineWidth/2)
	var out strings.Builder
	column := 0
	for _, part := range spacedWord.FindAllString(line, -1) {
		if column > 0 && column+width(part) > lineWidth {
			out.WriteString("\n")
			part, column = strings.Repeat(" ", indent)+strings.TrimLeft(part, " "), 0
		}
		out.WriteString(part)
		column += width(part)
	}
	return out.String()
}

func width(text string) int { return len([]rune(text)) }

// TestRecordedScreens: no recorded screen has a line that the terminal breaks within a word.
func TestRecordedScreens(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		recorded := screensOf(string(archive.Comment))
		if len(recorded) == 0 {
			t.Errorf("%s records no screen", file)
		}
		for _, part := range archive.Files {
			if line := brokenLine(string(part.Data)); recorded[part.Name] && line != "" {
				t.Errorf("%s, screen %s: the terminal breaks a word of:\n%s", file, part.Name, line)
			}
			if line := wideLine(string(part.Data)); recorded[part.Name] && line != "" {
				t.Errorf("%s, screen %s: a line of more than %d columns:\n%s", file, part.Name, columns, line)
			}
		}
	}
}

// screensOf returns the names of the files that hold screens, from the commands `screen CODE FILE …` and `shows FILE
// …`.
func screensOf(script string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(script) {
		switch words := strings.Fields(line); {
		case len(words) > 2 && words[0] == "screen":
			out[words[2]] = true
		case len(words) > 1 && words[0] == "shows":
			out[words[1]] = true
		}
	}
	return out
}

func TestBrokenLine(t *testing.T) {
	long := strings.Repeat("x", columns+1)
	cases := map[string]struct {
		reason, line string
		broken       bool
	}{
		"Fits":     {"it ends at the edge", strings.Repeat("x", columns), false},
		"Word":     {"a word crosses the edge", strings.Repeat("x", columns-8) + " replicas", true},
		"Space":    {"the edge is between words", strings.Repeat("x", columns-5) + " four more", false},
		"Long":     {"a word that fits on no line", "http://" + long, false},
		"LongLate": {"the same, after another word", "at " + long, false},
		"Second":   {"a word crosses the second edge", "at " + long + strings.Repeat("y", columns-10) + " replicas", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := brokenLine("first\n" + tc.line + "\nlast"); (got != "") != tc.broken {
				t.Errorf("%s: got %q", tc.reason, got)
			}
		})
	}
}

// TestRewrapped: text that tend has wrapped is the same after it was joined and wrapped again, also text that only
// looks wrapped.
func TestRewrapped(t *testing.T) {
	sixty := strings.Repeat("six by ", 9)
	for name, text := range map[string]string{
		"Wrapped":  "error: " + sixty + "and then\n    paused until somebody comes",
		"Indented": "  Next: " + sixty + "and\n      paused until",
		"Looks so": "  spec: " + sixty + "and\n      - nothing: more",
		"Short":    "a\n    b",
		"Long":     "see\n    http://" + strings.Repeat("x", 90) + "\n    now",
	} {
		t.Run(name, func(t *testing.T) {
			var again []string
			for line := range strings.SplitSeq(unwrapped(text), "\n") {
				again = append(again, rewrapped(line))
			}
			if got := strings.Join(again, "\n"); got != text {
				t.Errorf("%q became %q", text, got)
			}
		})
	}
	if head := "  Degraded True Unresolved, for 64s\n      " + strings.Repeat("x", 60); unwrapped(head) != head {
		t.Error("a message is joined with the head of its condition")
	}
	if got := unwrapped("error: " + sixty + "and then\n    paused"); strings.Contains(got, "\n") {
		t.Errorf("it stays apart: %q", got)
	}
}
