package cli

import (
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHelpFitsItsTerminal: on a terminal of 80 columns no line of help is wider.
func TestHelpFitsItsTerminal(t *testing.T) {
	screen, keyboard := openTerminal(t)
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 80, Row: 24}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(screen) // it ends with an error once the terminal is closed
		shown <- string(text)
	}()
	for _, args := range []string{"--help", "dev --help", "apply --help"} {
		root := newRoot(streams{out: keyboard, err: keyboard})
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
	}
	keyboard.Close()
	text := <-shown
	if !strings.Contains(text, "Several machines, labs, Kubernetes:") || !strings.Contains(text, "One server:") {
		t.Errorf("the help is not whole: %q", text)
	}
	checkWidth(t, "help", strings.ReplaceAll(text, "\r\n", "\n"), 80)
}
