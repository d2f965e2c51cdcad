package cli

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/server/daemon"
	"tend.dev/tend/internal/store/secret"
)

// backupFlags are the flags of the backups that a server takes by itself.
type backupFlags struct {
	options    *daemon.BackupOptions
	recipients []string
	files      []string
}

func (f *backupFlags) add(flags *pflag.FlagSet) {
	o := f.options
	flags.StringVar(&o.Schedule, "backup-schedule", "",
		"take backups at the times of a `CRON` expression, in UTC, as in '0 3 * * *' (default none)")
	flags.StringVar(&o.To, "backup-to", "", "`FOLDER` that gets them, a file each")
	flags.StringVar(&o.Command, "backup-command", "",
		"shell `COMMAND` that gets each on its standard input, in place of a folder")
	flags.IntVar(&o.Keep, "backup-keep", 7, "`NUMBER` of this cluster's backups that stay in the folder")
	flags.StringSliceVar(&f.recipients, "backup-recipient", nil,
		"age `RECIPIENT` (age1…) that can open them; may be repeated")
	flags.StringSliceVar(&f.files, "backup-recipients-file", nil, "`FILE` of age recipients, one a line")
	flags.BoolVar(&o.Unencrypted, "backup-unencrypted", false, "don't encrypt them: for a command that does")
}

// check returns the errors in the flags, and reads the recipients.
func (f *backupFlags) check() error {
	o := f.options
	if o.Schedule == "" {
		return nil
	}
	_, err := timetable.Parse(o.Schedule, "")
	all := []error{
		flagFault("backup-schedule", o.Schedule, err == nil, "a cron expression of five fields, as in '0 3 * * *'"),
		flagFault("backup-to", o.To, (o.To == "") != (o.Command == ""), "either a folder or --backup-command"),
		flagFault("backup-keep", o.Keep, o.Keep >= 1, "1 or more"),
		flagFault("backup-unencrypted", o.Unencrypted, !o.Unencrypted || len(f.recipients)+len(f.files) == 0,
			"no recipients beside it"),
	}
	var to secret.Recipients
	if !o.Unencrypted {
		if to, err = readRecipients(f.recipients, f.files); err != nil {
			all = append(all, err)
		} else {
			all = append(all, flagFault("backup-recipient", strings.Join(f.recipients, ","), !to.Empty(),
				"who can open the backups: age1…, --backup-recipients-file, or --backup-unencrypted"))
		}
	}
	o.Recipients = to
	return errors.Join(all...)
}
