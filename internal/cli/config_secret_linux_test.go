package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo-terminal: bytes written to the screen end are typed at the keyboard end.
func openTerminal(t *testing.T) (screen, keyboard *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if keyboard, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	return screen, keyboard
}

func echoes(t *testing.T, keyboard *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(keyboard.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// untilSilent waits until a terminal echoes nothing that is typed.
func untilSilent(t *testing.T, keyboard *os.File) {
	t.Helper()
	tick, deadline := time.NewTicker(time.Millisecond), time.After(10*time.Second)
	defer tick.Stop()
	for echoes(t, keyboard) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the terminal shows what is typed")
		}
	}
}

// TestSecretIsNotShown: KEY=- on a terminal prompts, and hides the answer; afterwards the terminal is as before.
func TestSecretIsNotShown(t *testing.T) {
	screen, keyboard := openTerminal(t)
	var said strings.Builder
	var set map[string]string
	ended := make(chan error, 1)
	go func() {
		var err error
		set, err = (&app{streams: streams{in: keyboard, err: &said}}).values(t.Context(), nil, []string{"KEY=-"})
		ended <- err
	}()
	untilSilent(t, keyboard)
	if _, err := screen.WriteString("hunter2\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || set["KEY"] != "hunter2" {
		t.Errorf("%q, %v", set, err)
	}
	if said.String() != "value of KEY (not shown): \n" {
		t.Errorf("said %q", said.String())
	}
	if !echoes(t, keyboard) {
		t.Error("the terminal stays silent")
	}
}
