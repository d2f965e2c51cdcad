package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"

	"tend.dev/tend/internal/platform/durable"

	"github.com/google/renameio/v2"

	"tend.dev/tend/internal/server/backup"
	"tend.dev/tend/internal/store/secret"
)

// storedBackup is a backup that is where it belongs.
type storedBackup struct {
	name     string
	size     int64
	revision int64
	// missing are the digests of the files that it lacks.
	missing []string
}

// storeBackup takes a backup to the folder or command of the options.
func (d *daemon) storeBackup(ctx context.Context, at time.Time) (storedBackup, error) {
	if d.Backups.Command != "" {
		return d.commandBackup(ctx, at)
	}
	made, err := d.folderBackup(ctx, at)
	if err != nil {
		return made, err
	}
	if err := d.supersede(made.name); err != nil { // the backup itself is good, and another one would not help
		d.Logger.ErrorContext(ctx, "older backups stay", "error", err)
	}
	return made, nil
}

// sealedBackup writes a backup to w, encrypted unless the options disable that.
func (d *daemon) sealedBackup(ctx context.Context, w io.Writer) (made storedBackup, err error) {
	counted := &counter{w: w}
	var out io.Writer = counted
	var sealed io.WriteCloser
	if !d.Backups.Unencrypted {
		if sealed, err = secret.Seal(counted, d.Backups.Recipients); err != nil {
			return made, err
		}
		out = sealed
	}
	manifest, err := d.takeBackup(ctx, out)
	if err == nil && sealed != nil {
		err = sealed.Close()
	}
	made.size, made.revision, made.missing = counted.n, manifest.Revision, manifest.MissingBlobs
	return made, err
}

// folderBackup writes a backup file, completely or not at all. It verifies the file before the backup counts. The file
// gets the name of a whole backup only once it is known to be one.
func (d *daemon) folderBackup(ctx context.Context, at time.Time) (made storedBackup, err error) {
	folder := d.Backups.To
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return made, fmt.Errorf("back up to %s: %w", folder, err)
	}
	whole := backup.Name(d.cluster.UID, at, !d.Backups.Unencrypted)
	path := filepath.Join(folder, backup.Incomplete(whole))
	d.removeHalves()
	file, err := renameio.NewPendingFile(path, renameio.WithTempDir(folder), renameio.WithPermissions(0o600),
		renameio.IgnoreUmask())
	if err != nil {
		return made, fmt.Errorf("back up to %s: %w", folder, err)
	}
	defer func() { _ = file.Cleanup() }()
	sum := sha256.New()
	made, err = d.sealedBackup(ctx, io.MultiWriter(roomy{file, folder, d.MinFree}, sum))
	if err == nil {
		err = file.CloseAtomicallyReplace()
	}
	if made.name = path; err == nil && len(made.missing) == 0 {
		made.name = filepath.Join(folder, whole)
		err = os.Rename(path, made.name)
	}
	if err != nil {
		return made, fmt.Errorf("back up to %s: %w", folder, err)
	}
	return made, errors.Join(durable.Sync(folder), reads(made.name, sum))
}

// reads compares a file with the checksum of the bytes written to it.
func reads(path string, written hash.Hash) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the backup again: %w", err)
	}
	defer file.Close()
	found := sha256.New()
	if _, err := io.Copy(found, file); err != nil {
		return fmt.Errorf("read the backup again: %w", err)
	}
	if !bytes.Equal(found.Sum(nil), written.Sum(nil)) {
		return fmt.Errorf("read the backup again: %s has other bytes than were written: check its disk", path)
	}
	return nil
}

// supersede deletes older backups of this cluster.
func (d *daemon) supersede(made string) error {
	entries, err := os.ReadDir(d.Backups.To)
	if err != nil {
		return fmt.Errorf("delete older backups: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	for _, name := range backup.Superseded(names, d.cluster.UID, filepath.Base(made), d.Backups.Keep) {
		if err := os.Remove(filepath.Join(d.Backups.To, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("delete an older backup: %w", err)
		}
		d.Logger.Info("older backup deleted", "file", name)
	}
	return nil
}

// removeHalves removes half-written backups of this cluster that a crash left.
func (d *daemon) removeHalves() {
	halves, _ := filepath.Glob(filepath.Join(d.Backups.To, ".tend-"+d.cluster.UID+"-*"))
	for _, half := range halves {
		_ = os.Remove(half)
	}
}

// roomy is a file that keeps some space of its disk free: the store may be on the same disk.
type roomy struct {
	file   io.Writer
	folder string
	least  int64
}

func (r roomy) Write(p []byte) (int, error) {
	if free, err := freeBytes(r.folder); err == nil && r.least > 0 && free < r.least+int64(len(p)) {
		return 0, fmt.Errorf("the disk of %s has %d MiB free, %d MiB must stay free (--min-free-disk)", r.folder,
			free>>20, r.least>>20)
	}
	return r.file.Write(p)
}

// counter counts the bytes that pass.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
