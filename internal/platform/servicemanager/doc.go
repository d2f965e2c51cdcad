// Package servicemanager reports to the service manager that started this process, systemd as a rule, how far it is:
// with Type=notify, `systemctl start` returns once the process is ready. It decides nothing, and without a service
// manager it does nothing.
//
//	servicemanager.Notify(ctx, logger, servicemanager.Ready("every object was reconciled once"))
package servicemanager
