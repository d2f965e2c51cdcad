package runtime

import "context"

// Killer is an Exec whose command the caller can end, whatever signals the command ignores.
type Killer interface {
	// Kill sends SIGKILL to the command and the processes that it started, and returns when the command has ended. A
	// command that has ended already is not an error.
	Kill(ctx context.Context) error
}

// Kill ends a command and closes it. A command that doesn't implement Killer is only closed: it notices when it reads
// or writes.
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
