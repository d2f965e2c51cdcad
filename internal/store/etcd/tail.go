package etcd

import (
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// databasePath returns the path of the member's database.
func (s *Store) databasePath() string { return filepath.Join(s.opts.DataDir, "member", "snap", "db") }

// cutTail truncates the database file after its last page. bbolt grows the file by 16 MB at a time, and etcd maps all
// of it into memory at a start: without the cut, a small database takes 16 MB of memory after a restart. A snapshot
// ends with its last page, too. Errors are left to etcd, which opens the file next and reports them.
func (s *Store) cutTail() {
	path := s.databasePath()
	if size, err := sizeInUse(path); err == nil {
		if info, err := os.Stat(path); err == nil && info.Size() > size {
			_ = os.Truncate(path, size)
		}
	}
}

// sizeInUse returns the size of a database file up to its last page.
func sizeInUse(path string) (size int64, err error) {
	if _, err := os.Stat(path); err != nil {
		return 0, err // bbolt would create it
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Millisecond})
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		size = tx.Size()
		return nil
	})
	return size, err
}
