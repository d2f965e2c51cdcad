package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server/backup"
)

// snapshotFile is the name of the store's copy.
const snapshotFile = "snapshot.db"

// copyTries is the number of attempts to copy the store between two changes of the keys.
const copyTries = 3

// copyState copies the store, and the files of the root, into a folder. At any time the files have the keys to all that
// the store holds at that time. So the copies fit each other if the files are the same before and after that of the
// store: the copy waits for nothing else, however slowly a client reads the backup.
func (d *daemon) copyState(ctx context.Context, folder string) error {
	for range copyTries {
		if err := d.copyRootFiles(folder); err != nil {
			return fmt.Errorf("take a backup: %w", err)
		}
		spool := filepath.Join(folder, snapshotFile)
		if err := d.spool(ctx, spool); err != nil {
			return err
		}
		if same, err := d.sameRootFiles(folder); err != nil || same {
			return err
		}
		if err := os.Remove(spool); err != nil {
			return fmt.Errorf("take a backup: %w", err)
		}
	}
	return &api.Problem{Status: http.StatusConflict, Title: "Conflict",
		Detail: "the cluster's keys were changed while the store was copied", Next: "try again"}
}

func (d *daemon) copyRootFiles(folder string) error {
	for _, name := range backup.RootFiles {
		content, err := os.ReadFile(filepath.Join(d.Root, name))
		if errors.Is(err, fs.ErrNotExist) {
			err = os.RemoveAll(filepath.Join(folder, name))
		} else if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), content, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sameRootFiles reports whether the root still has the files that were copied.
func (d *daemon) sameRootFiles(folder string) (bool, error) {
	for _, name := range backup.RootFiles {
		now, gone := os.ReadFile(filepath.Join(d.Root, name))
		copied, none := os.ReadFile(filepath.Join(folder, name))
		for _, err := range []error{gone, none} {
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return false, fmt.Errorf("take a backup: %w", err)
			}
		}
		if (gone == nil) != (none == nil) || !bytes.Equal(now, copied) {
			return false, nil
		}
	}
	return true, nil
}
