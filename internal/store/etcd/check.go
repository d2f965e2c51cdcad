package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// ErrDamaged means that the database file is not readable as it was written.
var ErrDamaged = errors.New("the database is damaged")

// checkTime bounds the check of a database. If it takes longer, etcd opens the database unchecked.
const checkTime = 10 * time.Second

// checkVariable names the file that a child process checks instead of running the command.
const checkVariable = "TEND_CHECK_DATABASE"

// A damaged page makes bbolt panic on a goroutine of its own, which ends the process. So the check runs in a child.
func init() {
	path := os.Getenv(checkVariable)
	if path == "" {
		return
	}
	if err := checkDatabase(path); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// checkDatabase runs bbolt's own check.
func checkDatabase(path string) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			return err
		}
		return nil
	})
}

// unclean returns the file that marks a data dir whose last process did not close it, including one that a damaged page
// ended. Only such a database is checked: after a clean stop the check would be a large part of the boot.
func (s *Store) unclean() string { return filepath.Join(s.opts.DataDir, "unclean") }

// markOpen checks the database if the last process didn't close it, and marks it as open.
func (s *Store) markOpen(ctx context.Context) error {
	if _, err := os.Stat(s.unclean()); err == nil {
		if err := s.checkInChild(ctx); err != nil {
			return err
		}
	}
	_ = os.WriteFile(s.unclean(), nil, 0o600) // a full disk must not keep a server from starting
	return nil
}

// checkInChild returns ErrDamaged if the check finds a fault.
func (s *Store) checkInChild(ctx context.Context) error {
	path := s.databasePath()
	if _, err := os.Stat(path); err != nil {
		return nil // there is nothing to check; etcd reports what is missing
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	fault := faultInChild(ctx, path)
	if fault == "" {
		return nil
	}
	return fmt.Errorf("%w: %s: %s\n  restore %s and secret.key from a backup (see docs/operate/backup.md); keep the damaged folder until that works",
		ErrDamaged, path, fault, s.opts.DataDir)
}

// faultInChild returns the fault that the check of a database finds, or the crash that ends it; empty for none. A check
// that can't be run reports none.
func faultInChild(ctx context.Context, path string) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	child := exec.CommandContext(ctx, self)
	child.Env = append(os.Environ(), checkVariable+"="+path)
	out, err := child.CombinedOutput()
	var failed *exec.ExitError
	if err == nil || ctx.Err() != nil || !errors.As(err, &failed) {
		return ""
	}
	first, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	return string(first)
}

// markClosed removes the mark. It is called once etcd has closed its files.
func (s *Store) markClosed() error {
	if err := os.Remove(s.unclean()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
