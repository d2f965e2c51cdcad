// Package window decides when an application may be changed: in its maintenance window, which an annotation of the
// ApplicationInstance declares as Argo CD's sync windows do, by a cron schedule, a duration and a time zone. The
// controllers of instances and operations ask with the time in their hands; nothing here reads a clock.
//
// Example:
//
//	declared, err := window.Of(instance.Annotations)
//	if opens := declared.Opens(now); !opens.IsZero() {
//		… // closed: reconcile again at that time
//	}
package window
