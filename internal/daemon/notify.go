package daemon

import (
	"context"

	systemd "github.com/coreos/go-systemd/v22/daemon"
)

// The states that are reported to a service manager.
const (
	notifyStarted  = "STATUS=reading the store"
	notifyReady    = systemd.SdNotifyReady + "\nSTATUS=every object was reconciled once"
	notifyStopping = systemd.SdNotifyStopping + "\nSTATUS=finishing requests and reconciles"
)

// notify reports a state to the service manager that started this process (sd_notify). Without one it does nothing, and
// an unreachable one does not stop the server.
func (d *daemon) notify(ctx context.Context, state string) {
	if _, err := systemd.SdNotify(false, state); err != nil {
		d.Logger.WarnContext(ctx, "can't notify the service manager", "error", err)
	}
}
