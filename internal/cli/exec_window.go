package cli

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"tend.dev/tend/client/execwire"
)

// windowSizes returns a channel that gets the terminal's size whenever it changes, until stop is called.
func windowSizes(file *os.File) (sizes <-chan execwire.Size, stop func()) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	out, done := make(chan execwire.Size, 1), make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-changed:
			}
			width, height, err := term.GetSize(int(file.Fd()))
			if err != nil {
				continue
			}
			select {
			case out <- execwire.Size{Width: width, Height: height}:
			case <-done:
				return
			}
		}
	}()
	return out, func() { signal.Stop(changed); close(done) }
}
