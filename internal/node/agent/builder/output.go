package builder

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"tend.dev/tend/internal/input/build/buildlog"
)

// What is reported of a failed build: its last lines, each of them cut.
const (
	lastLines   = 20
	maxLastLine = 400
)

// output is the output of a build: it is logged, its steps are reported, and its end is kept.
type output struct {
	log  *buildlog.Log
	step func(text string)
	// hide removes the values of secrets from a line; nil before they are known.
	hide func(text string) string
	mu   sync.Mutex
	last []string
}

// Line adds a line.
func (o *output) Line(text string) {
	if text = plain(text); o.hide != nil {
		text = o.hide(text)
	}
	o.log.Line(text)
	o.mu.Lock()
	step, isStep := stepOf(text)
	if isStep {
		o.last = nil // only of the step that fails, not of earlier ones
	}
	o.last = append(o.last, cut(text))
	if len(o.last) > lastLines {
		o.last = o.last[len(o.last)-lastLines:]
	}
	o.mu.Unlock()
	if isStep {
		o.step(cut(step))
	}
}

// stepOf converts "Step 3/7 : RUN go build" to "3/7 RUN go build".
func stepOf(line string) (string, bool) {
	rest, found := strings.CutPrefix(line, "Step ")
	count, text, split := strings.Cut(rest, " : ")
	var n, of int
	if !found || !split {
		return "", false
	}
	if _, err := fmt.Sscanf(count, "%d/%d", &n, &of); err != nil {
		return "", false
	}
	return count + " " + text, true
}

func cut(text string) string {
	if len(text) <= maxLastLine {
		return text
	}
	end := maxLastLine
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// plain removes control sequences of a terminal: colours, and lines drawn over others.
func plain(text string) string {
	if at := strings.LastIndex(strings.TrimRight(text, "\r"), "\r"); at >= 0 {
		text = text[at+1:]
	}
	var out strings.Builder
	escaped := false
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == 0x1b:
			escaped = true
		case escaped:
			escaped = r == '[' || r == ';' || r >= '0' && r <= '9' || r == '?'
		case r == '\t' || r >= ' ' && r != 0x7f:
			out.WriteRune(r)
		}
	}
	return out.String()
}
