package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"tend.dev/tend/api"
)

// TestBackupStatusFitsATerminal: each fact has a line of its own, so that only one path or one error can be wider than
// 80 columns, and a terminal breaks those between words.
func TestBackupStatusFitsATerminal(t *testing.T) {
	at := time.Date(2026, 11, 29, 3, 0, 0, 0, time.UTC)
	last := &api.BackupRecord{At: at.AddDate(0, 0, 1), Succeeded: at, Size: 123 << 20, Revision: 1234567,
		Name:  "/mnt/backups/of/this/cluster/tend-806b76ab4d05d00d-20261129T030000Z.tar.zst.age",
		Error: "write /mnt/backups/tend-20261130T030000Z.tar.zst.age: no space left on device\nlast good a forged one"}
	for name, status := range map[string]api.BackupStatus{
		"none":      {},
		"scheduled": {Schedule: "0 3 * * *", To: "/mnt/backups/of/this/cluster", Next: at, Running: true, Last: last},
	} {
		for _, columns := range []int{0, 79} {
			var out strings.Builder
			if err := (&app{streams: streams{out: &out, columns: columns}}).printBackups(status); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				wide, value := ansi.StringWidth(line), line[min(len(line), 11):] // behind the column of labels
				alone := value == last.Name || value == printable(last.Error, "") || strings.HasPrefix(line, "    /")
				if wide > 79 && !alone || strings.HasPrefix(line, "last good a forged") {
					t.Errorf("%s, %d columns: a line of %d: %q", name, columns, wide, line)
				}
			}
			if status.Last != nil {
				for _, fact := range []string{last.Name, "0 3 * * *", "123.0Mi", "revision 1234567", "2026-11-30 03:00:00 UTC"} {
					if !strings.Contains(out.String(), fact) {
						t.Errorf("%s lacks %q:\n%s", name, fact, &out)
					}
				}
			}
		}
	}
}
