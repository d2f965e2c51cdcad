package cli

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/term"
)

// secret prompts for a value on a terminal and reads one line without echo. It restores the terminal if the command is
// interrupted.
func (a *app) secret(ctx context.Context, keyboard *os.File, key string) (string, error) {
	state, err := term.GetState(int(keyboard.Fd()))
	if err != nil {
		return "", fmt.Errorf("ask for the value: %w", err)
	}
	type answer struct {
		text []byte
		err  error
	}
	answers := make(chan answer, 1)
	fmt.Fprintf(a.err, "value of %s (not shown): ", key)
	defer fmt.Fprintln(a.err) // Enter is not shown either
	go func() {
		text, err := term.ReadPassword(int(keyboard.Fd()))
		answers <- answer{text, err}
	}()
	select {
	case got := <-answers:
		if got.err != nil {
			return "", fmt.Errorf("read the value: %w", got.err)
		}
		return string(got.text), nil
	case <-ctx.Done():
		_ = term.Restore(int(keyboard.Fd()), state)
		return "", context.Cause(ctx)
	}
}
