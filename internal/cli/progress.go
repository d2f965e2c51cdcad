package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
	"os"

	"tend.dev/tend/api"
)

// progress shows where waits stand.
type progress interface {
	update(looks []seen)
	end()
}

// newProgress shows a block per object that is redrawn in place on a screen, and a line per change elsewhere.
func (a *app) newProgress(quiet bool) progress {
	switch {
	case quiet:
		return silent{}
	case terminal(a.err) && os.Getenv("TERM") != "dumb":
		return &block{out: a.err, color: color(a.err)}
	}
	return &lines{out: a.err, said: map[api.Ref]string{}}
}

type silent struct{}

func (silent) update([]seen) {}
func (silent) end()          {}

// lines prints a line whenever what is to be said of an object, or of one of its slots, changes.
type lines struct {
	out  io.Writer
	said map[api.Ref]string
	pods map[string]string
}

func (l *lines) update(looks []seen) {
	if l.pods == nil {
		l.pods = map[string]string{}
	}
	for _, s := range looks {
		for _, pod := range s.pods {
			if state := podState(pod); l.pods[pod.Name] != state {
				l.pods[pod.Name] = state
				fmt.Fprintf(l.out, "%s: %s %s (%s)\n", s.ref, pod.Name, state, pod.Release)
			}
		}
		message, _, _ := strings.Cut(s.message, "\n")
		if l.said[s.ref] != message {
			l.said[s.ref] = message
			fmt.Fprintf(l.out, "%s: %s\n", s.ref, message)
		}
	}
}

func (*lines) end() {}

// block redraws what it showed before.
type block struct {
	out   io.Writer
	color bool
	drawn int
	frame int
}

func (b *block) update(looks []seen) {
	width := 100
	if file, ok := b.out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
			width = columns
		}
	}
	b.frame++
	var rows []string
	for _, s := range looks {
		rows = append(rows, b.rows(s)...)
	}
	var out strings.Builder
	if b.drawn > 0 {
		out.WriteString(ansi.CursorUp(b.drawn))
	}
	for _, row := range rows {
		out.WriteString("\r" + ansi.EraseLineRight + ansi.Truncate(row, width-1, "…") + "\n")
	}
	out.WriteString(ansi.EraseScreenBelow)
	b.drawn = len(rows)
	_, _ = io.WriteString(b.out, out.String())
}

func (*block) end() {}

const maxPodRows = 20

func (b *block) rows(s seen) []string {
	message, _, _ := strings.Cut(s.message, "\n")
	rows := []string{fmt.Sprintf("%s %s  %s", b.mark(s.outcome), s.ref, message)}
	live := slices.DeleteFunc(slices.Clone(s.pods), func(pod api.Pod) bool {
		return pod.Desired != api.DesiredRunning && pod.State.Terminal()
	})
	if s.outcome == converged {
		return rows
	}
	for i, pod := range live {
		if i == maxPodRows {
			return append(rows, fmt.Sprintf("    … and %d more", len(live)-i))
		}
		detail := ""
		if !pod.Ready && pod.Message != "" {
			detail, _, _ = strings.Cut(pod.Message, "\n")
		}
		rows = append(rows, fmt.Sprintf("    %-28s %-4s %-12s %s", pod.Name, pod.Release, podState(pod), detail))
	}
	return rows
}

func (b *block) mark(o outcome) string {
	text, style := [...]string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"}[b.frame%8], "36"
	switch o {
	case converged:
		text, style = "✓", "32"
	case failed:
		text, style = "✗", "31"
	case held:
		text, style = "!", "33"
	}
	if !b.color {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}
