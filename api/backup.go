package api

import "time"

// BackupRecord holds the outcome of scheduled backups. The server that leads writes it.
type BackupRecord struct {
	// At is the start of the last backup, Took its duration in seconds, and Error its failure; empty if it succeeded.
	// Missing counts the files that it lacks: no server had them any more. It was stored then, and is not a good one.
	At      time.Time `json:"at"`
	Took    float64   `json:"took"`
	Error   string    `json:"error,omitempty"`
	Missing int       `json:"missing,omitempty"`
	// Succeeded is the time of the last good backup. Name is its file or the command that took it, Size its bytes, and
	// Revision the store's revision in it.
	Succeeded time.Time `json:"succeeded,omitzero"`
	Name      string    `json:"name,omitempty"`
	Size      int64     `json:"size,omitempty"`
	Revision  int64     `json:"revision,omitempty"`
}

// BackupStatus is the answer of GET /v1/backup.
type BackupStatus struct {
	// Schedule is empty if no backups are scheduled; To says where they go, and Keep how many stay (0 is all).
	Schedule string `json:"schedule,omitempty"`
	To       string `json:"to,omitempty"`
	Keep     int    `json:"keep,omitempty"`
	// Next is the time of the next backup. Running is set while one is taken.
	Next    time.Time `json:"next,omitzero"`
	Running bool      `json:"running,omitempty"`
	// Last is nil before the first one.
	Last *BackupRecord `json:"last,omitempty"`
}

// Failed reports whether the last scheduled backup failed.
func (s BackupStatus) Failed() bool { return s.Last != nil && s.Last.Error != "" }
