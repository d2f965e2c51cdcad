package cli

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// TestHelpFitsItsTerminal: on a terminal of 80 columns, also one that tells no rows, no line of help is wider, and each
// line of a paragraph has all the words that fit.
func TestHelpFitsItsTerminal(t *testing.T) {
	const width, separator = 79, "=== "
	screen, keyboard := openTerminal(t)
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width + 1}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(screen) // it ends with an error once the terminal is closed
		shown <- string(text)
	}()
	eachCommand(newRoot(streams{}), func(command *cobra.Command) {
		fmt.Fprintln(keyboard, separator+command.CommandPath())
		root := newRoot(streams{out: keyboard, err: keyboard})
		root.SetArgs(append(strings.Fields(command.CommandPath())[1:], "--help"))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
	})
	keyboard.Close()
	text := strings.ReplaceAll(<-shown, "\r\n", "\n")
	if !strings.Contains(text, "Several machines, labs, Kubernetes:") || !strings.Contains(text, "One server:") {
		t.Errorf("the help is not whole: %q", text)
	}
	for page := range strings.SplitSeq(text, separator) {
		name, page, _ := strings.Cut(page, "\n")
		checkWidth(t, name, page, width)
		long, flags, _ := strings.Cut(page, "\nUsage:")
		_, flags, _ = strings.Cut(flags, "lags:\n")
		for line := range strings.SplitSeq(flags, "\n") {
			if text := strings.TrimLeft(line, " "); len(line)-len(text) == 6+hanging && !strings.HasPrefix(text, "-") {
				t.Errorf("%s: %q hangs below its flag, not below its text", name, line)
			}
		}
		lines := strings.Split(long, "\n")
		for i := range len(lines) - 1 {
			next, _, _ := strings.Cut(lines[i+1], " ")
			if lines[i] != "" && next != "" && len([]rune(lines[i]+" "+next)) <= width {
				t.Errorf("%s: %q has room for %q", name, lines[i], next)
			}
		}
	}
}
