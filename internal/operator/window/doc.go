// Package window decides when an application may be changed: in its maintenance window. An annotation of the
// ApplicationInstance declares it like Argo CD's sync windows, with a cron schedule, a duration and a time zone.
// Callers pass the time; nothing here reads a clock.
//
// Example:
//
//	declared, err := window.Of(instance.Annotations)
//	if opens := declared.Opens(now); !opens.IsZero() {
//		… // closed: reconcile again at that time
//	}
package window
