package records

import "tend.dev/tend/api"

// Backup reads the result of the scheduled backups.
func (s Snapshot) Backup() Read[api.BackupRecord] { return get[api.BackupRecord](s, BackupKey) }
