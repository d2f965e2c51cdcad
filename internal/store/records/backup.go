package records

import "tend.dev/tend/api"

// Backup reads what has become of scheduled backups.
func (s Snapshot) Backup() Read[api.BackupRecord] { return get[api.BackupRecord](s, BackupKey) }
