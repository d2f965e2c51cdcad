package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"tend.dev/tend/api"
)

// block redraws what it showed before, on a terminal.
type block struct {
	out   io.Writer
	paint paint
	last  []seen
	note  string
	// over is set once the wait has timed out.
	over  bool
	drawn int
	frame int
	// shown is the text on the screen; nothing is written while it stays the same.
	shown string
}

// maxPodRows bounds the pods shown of one object.
const maxPodRows = 20

func (b *block) update(all []seen) {
	b.last, b.note = all, ""
	b.draw("")
}

func (b *block) tick() { b.draw(b.note) }

func (b *block) away(server string) {
	b.note = "the server at " + server + " does not answer; waiting for it"
	b.draw(b.note)
}

func (b *block) timedOut() {
	b.over = true
	b.draw("")
}

func (b *block) draw(note string) {
	width, height := screen(b.out)
	b.frame++
	var rows []string
	for _, s := range b.last {
		for _, row := range b.rows(s) {
			rows = append(rows, broken(row, width-1)...)
		}
	}
	if note != "" {
		rows = append(rows, broken(b.paint.yellow(note), width-1)...)
	}
	if len(rows) > height-1 { // what scrolled off can't be redrawn
		rows = append(rows[:height-2], fmt.Sprintf("    … and %d more lines", len(rows)-height+2))
	}
	if text := strings.Join(rows, "\n"); text != b.shown {
		b.shown = text
		b.write(rows)
	}
}

// write overwrites the old rows in one write. It erases each row after its text, to avoid flicker.
func (b *block) write(rows []string) {
	var out strings.Builder
	if b.drawn > 0 {
		out.WriteString(ansi.CursorUp(b.drawn))
	}
	for _, row := range rows {
		out.WriteString("\r" + row + ansi.EraseLineRight + "\n")
	}
	out.WriteString(ansi.EraseScreenBelow)
	b.drawn = len(rows)
	_, _ = io.WriteString(b.out, out.String())
}

// usualHeight is the assumed height of a terminal that doesn't report one.
const usualHeight = 24

// screen returns the terminal's size. One that tells no width or no height, as serial consoles do, has the usual one.
func screen(w io.Writer) (width, height int) {
	if file, ok := w.(*os.File); ok {
		width, height, _ = term.GetSize(int(file.Fd()))
	}
	if width <= minWidth {
		width = usualWidth
	}
	if height < 3 { // a row, the line about more, and the cursor
		height = usualHeight
	}
	return width, height
}

func (b *block) rows(s seen) []string {
	head, _, _ := strings.Cut(s.Message, "\n")
	rows := []string{fmt.Sprintf("%s %s  %s", b.mark(s.State), s.Ref, printable(head, ""))}
	switch {
	case s.answeredBelow():
		return []string{fmt.Sprintf("%s %s", b.mark(s.State), s.Ref)}
	case s.State == api.OutcomeConverged:
		return rows
	case s.State != api.OutcomePending || b.over:
		return []string{fmt.Sprintf("%s %s  %s", b.mark(s.State), s.Ref, s.Reason)} // the error below gives the cause
	case s.Next != "":
		rows = append(rows, "  "+nextLabel+printable(s.Next+meanwhile(s), ""))
	}
	said := map[string]bool{}
	shown := slices.DeleteFunc(slices.Clone(s.Pods), func(pod api.Pod) bool {
		return pod.State.Terminal() && (pod.Desired != api.DesiredRunning || pod.CreatedAt.Before(s.UpdatedAt))
	})
	for i, pod := range shown {
		if i == maxPodRows {
			return append(rows, fmt.Sprintf("    … and %d more", len(shown)-i))
		}
		rows = append(rows, "    "+b.row(pod))
		detail, _, _ := strings.Cut(pod.Message, "\n")
		if pod.Ready || detail == "" || said[detail] || strings.Contains(s.Message, detail) {
			continue
		}
		said[detail] = true
		rows = append(rows, "      "+printable(detail, ""))
		if pod.Next != "" {
			rows = append(rows, "      "+nextLabel+printable(pod.Next, ""))
		}
	}
	return rows
}

func (b *block) row(pod api.Pod) string {
	state := printable(podState(pod), "")
	switch {
	case pod.Ready:
		state = b.paint.green(state)
	case pod.CrashLoop || pod.State == api.TaskFailed || pod.State == api.TaskRejected:
		state = b.paint.red(state)
	}
	return fmt.Sprintf("%-28s %-4s %s", pod.Name, pod.Release, state)
}

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧")

func (b *block) mark(o api.OutcomeState) string {
	switch o {
	case api.OutcomeConverged:
		return b.paint.green("✓")
	case api.OutcomeFailed:
		return b.paint.red("✗")
	case api.OutcomeHeld, api.OutcomeReplaced:
		return b.paint.yellow("!")
	}
	return b.paint.cyan(string(spinner[b.frame/4%len(spinner)]))
}

// broken breaks a row into the lines that it takes on the screen: between words, and within words that are too long.
func broken(row string, width int) []string {
	return strings.Split(ansi.Hardwrap(wrapped(row, width), width, true), "\n")
}
