package runtime

import "context"

// Killer is an Exec whose command can be ended by whoever runs it, whatever signals it ignores.
type Killer interface {
	// Kill sends SIGKILL to the command and what it started, and returns when it has ended. One that has ended is no fault.
	Kill(ctx context.Context) error
}

// Kill ends a command and lets go of it. Without a Killer closing must do: what reads or writes notices.
func Kill(ctx context.Context, command Exec) error {
	killer, ok := command.(Killer)
	if !ok {
		return command.Close()
	}
	err := killer.Kill(ctx)
	if closed := command.Close(); err == nil {
		err = closed
	}
	return err
}
