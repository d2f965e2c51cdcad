package cli

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
)

// printBackups prints what has become of scheduled backups.
func (a *app) printBackups(s api.BackupStatus) {
	if s.Schedule == "" {
		fmt.Fprintln(a.out,
			"no backups are scheduled\n  Next: tend server --backup-schedule '0 3 * * *' --backup-to FOLDER --backup-recipient age1…; or now: tend backup FILE")
	} else {
		fmt.Fprintf(a.out, "schedule   %s (UTC), to %s\n", printable(s.Schedule, ""), printable(s.To, ""))
		fmt.Fprintf(a.out, "next       %s\n", dateText(s.Next))
	}
	if s.Running {
		fmt.Fprintln(a.out, "now        a backup is being taken")
	}
	last := s.Last
	if last == nil {
		return
	}
	if last.Error != "" {
		fmt.Fprintf(a.out, "failed     %s: %s\n", dateText(last.At), printable(last.Error, ""))
	}
	if !last.Succeeded.IsZero() {
		fmt.Fprintf(a.out, "last good  %s, %s, revision %d: %s\n", dateText(last.Succeeded), bytesText(last.Size),
			last.Revision, printable(last.Name, ""))
	}
}

func dateText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
