package servicemanager

import (
	"context"
	"log/slog"

	systemd "github.com/coreos/go-systemd/v22/daemon"
)

// State is the report of a process, in the words of sd_notify(3).
type State string

// Status returns a state that only describes what the process does at the moment.
func Status(text string) State { return State("STATUS=" + text) }

// Ready returns the state of a process that has started.
func Ready(text string) State { return systemd.SdNotifyReady + "\n" + Status(text) }

// Stopping returns the state of a process that is about to end.
func Stopping(text string) State { return systemd.SdNotifyStopping + "\n" + Status(text) }

// Notify reports a state to the service manager. It logs an error and continues: no server should fail because of it.
func Notify(ctx context.Context, log *slog.Logger, state State) {
	if _, err := systemd.SdNotify(false, string(state)); err != nil {
		log.WarnContext(ctx, "can't notify the service manager", "error", err)
	}
}
