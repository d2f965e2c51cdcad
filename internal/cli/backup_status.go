package cli

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
)

// printBackups prints what has become of scheduled backups, a fact per line so that it fits a narrow terminal.
func (a *app) printBackups(s api.BackupStatus) error {
	return a.composed(func(a *app) error {
		w := plain{a.out}
		if s.Schedule == "" {
			fmt.Fprintln(a.out, "no backups are scheduled; to take one now: tend backup FILE"+nextLine("  ",
				"give tend server --backup-schedule, --backup-to and --backup-recipient"))
		} else {
			w.printf("schedule   %s (UTC)\n", s.Schedule)
			w.printf("to         %s\n", s.To)
			w.printf("next       %s\n", dateText(s.Next))
		}
		if s.Running {
			w.printf("now        a backup is being taken\n")
		}
		last := s.Last
		if last == nil {
			return nil
		}
		if last.Error != "" {
			w.printf("failed     %s\n           %s\n", dateText(last.At), last.Error)
		}
		if !last.Succeeded.IsZero() {
			w.printf("last good  %s, %s, revision %d\n", dateText(last.Succeeded), bytesText(last.Size), last.Revision)
			w.printf("file       %s\n", last.Name)
		}
		return nil
	})
}

func dateText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
