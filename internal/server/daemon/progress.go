package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tend.dev/tend/internal/platform/durable"

	"github.com/google/renameio/v2"
)

// progress is the last known revision of a cluster, stored in the root beside the store: a store that is behind it was
// restored. It is never ahead of the store on disk.
type progress struct {
	Revision int64 `json:"revision"`
	// Restored is set by tend restore, or by a start that found the store behind, until a person has resumed.
	Restored bool `json:"restored,omitempty"`
	// Pause is the number of the pause for which Restored is set, else of the last one that ended. It is 0 in the file of
	// tend restore.
	Pause int64 `json:"pause,omitempty"`
	// Backup is the time of the backup that tend restore created the store from.
	Backup string `json:"backup,omitempty"`
}

// progressEvery is the interval between two writes while the store grows.
const progressEvery = 5 * time.Second

func (d *daemon) progressPath() string { return filepath.Join(d.Root, "clusters", d.cluster.UID) }

// readProgress returns the stored progress; the zero value if the file is missing or damaged.
func (d *daemon) readProgress() progress {
	raw, err := os.ReadFile(d.progressPath())
	if errors.Is(err, fs.ErrNotExist) {
		return progress{}
	}
	known := progress{}
	if err == nil {
		err = json.Unmarshal(raw, &known)
	}
	if err != nil {
		d.Logger.Warn("the cluster's stored progress can't be read: this start doesn't recognize a restored store", "path",
			d.progressPath(), "error", err)
		return progress{}
	}
	return known
}

// writeProgress replaces the file atomically and durably.
func (d *daemon) writeProgress(p progress) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	path := d.progressPath()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := renameio.WriteFile(path, append(raw, '\n'), 0o600, renameio.WithTempDir(filepath.Dir(path))); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return durable.Sync(filepath.Dir(path))
}

// keepProgress stores the view's revision, which is never ahead of the store on disk, until ctx ends.
func (d *daemon) keepProgress(ctx context.Context) error {
	written := int64(0)
	keep := func() {
		seen := d.view.Revision()
		if seen <= written {
			return
		}
		if err := d.writeProgress(progress{Revision: seen, Pause: d.lastPauseSeen()}); err != nil {
			d.Logger.Warn("the cluster's progress could not be stored; retrying", "error", err)
			return
		}
		written = seen
	}
	defer keep()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			keep()
		}
	}
}

// lastPauseSeen returns the number of the last pause of which this server knows that it ended.
func (d *daemon) lastPauseSeen() int64 {
	if last := d.snapshot().LastPause(); last.Exists() {
		return max(d.lastPause, last.Value.Number)
	}
	return d.lastPause
}
