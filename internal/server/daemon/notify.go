package daemon

import "tend.dev/tend/internal/platform/servicemanager"

// The states that are reported to a service manager.
var (
	notifyStarted  = servicemanager.Status("reading the store")
	notifyReady    = servicemanager.Ready("every object was reconciled once")
	notifyStopping = servicemanager.Stopping("finishing requests and reconciles")
)
