package cli

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWidthOfTerminals: a terminal that doesn't tell its width has 80 columns, and a pipe any number.
func TestWidthOfTerminals(t *testing.T) {
	screen, keyboard := openTerminal(t)
	for width, want := range map[uint16]int{0: 79, 10: 0, 20: 19, 132: 131} {
		if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: 24}); err != nil {
			t.Fatal(err)
		}
		if got := columnsOf(keyboard); got != want {
			t.Errorf("a terminal that says %d has lines of %d columns, want %d", width, got, want)
		}
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	if got := columnsOf(writer); got != 0 {
		t.Errorf("a pipe has %d columns", got)
	}
}

// TestScreenOfConsoles: a terminal that doesn't tell its rows is redrawn within its width, and the other way round.
func TestScreenOfConsoles(t *testing.T) {
	screenEnd, keyboard := openTerminal(t)
	for size, want := range map[[2]uint16][2]int{
		{80, 0}: {80, usualHeight}, {0, 50}: {usualWidth, 50}, {0, 0}: {usualWidth, usualHeight}, {132, 50}: {132, 50},
		{60, 1}: {60, usualHeight},
	} {
		if err := unix.IoctlSetWinsize(int(screenEnd.Fd()), unix.TIOCSWINSZ,
			&unix.Winsize{Col: size[0], Row: size[1]}); err != nil {
			t.Fatal(err)
		}
		if width, height := screen(keyboard); width != want[0] || height != want[1] {
			t.Errorf("a terminal that says %v is redrawn as one of %d×%d, want %v", size, width, height, want)
		}
	}
}
