package api

import "time"

// BackupRecord holds the outcome of scheduled backups. The server that leads writes it.
type BackupRecord struct {
	// At is when the last one was begun, Took how many seconds it took, and Error why it failed; empty if it did not.
	At    time.Time `json:"at"`
	Took  float64   `json:"took"`
	Error string    `json:"error,omitempty"`
	// Succeeded is when the last good one was taken; Name is its file, or the command that took it, Size its bytes, and
	// Revision that of the store in it.
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
	// Next is when the next one is due, Running is set while one is taken.
	Next    time.Time `json:"next,omitzero"`
	Running bool      `json:"running,omitempty"`
	// Last is nil before the first one.
	Last *BackupRecord `json:"last,omitempty"`
}

// Failed reports whether the last scheduled backup failed.
func (s BackupStatus) Failed() bool { return s.Last != nil && s.Last.Error != "" }
