package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/platform/version"
	"tend.dev/tend/internal/server/backup"
	"tend.dev/tend/internal/store/etcd"
)

// snapshotter is a store that can be copied while it works.
type snapshotter interface {
	Snapshot(ctx context.Context, w io.Writer) error
	SizeBytes() int64
}

// backups holds the server's parts for backups.
type backups struct {
	// taking is held while a backup is written.
	taking  sync.Mutex
	metrics *backupMetrics
}

// backUp answers POST /v1/backup.
func (d *daemon) backUp(ctx context.Context, w io.Writer) error {
	manifest, err := d.takeBackup(ctx, w)
	if err == nil {
		d.Logger.InfoContext(ctx, "backup sent", "revision", manifest.Revision, "parts", len(manifest.Parts))
	}
	return err
}

// takeBackup writes a backup of the cluster to w. It writes the first byte once the whole content is known: an earlier
// error leaves w untouched.
func (d *daemon) takeBackup(ctx context.Context, w io.Writer) (backup.Manifest, error) {
	if !d.backups.taking.TryLock() {
		return backup.Manifest{}, &api.Problem{Status: http.StatusConflict, Detail: "another backup is being taken",
			Next: "wait until it has ended: tend backup status"}
	}
	defer d.backups.taking.Unlock()
	folder := filepath.Join(d.Root, "backup.partial")
	defer os.RemoveAll(folder)
	if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700)); err != nil {
		return backup.Manifest{}, fmt.Errorf("take a backup: %w", err)
	}
	if err := d.copyState(ctx, folder); err != nil {
		return backup.Manifest{}, err
	}
	entries, revision, err := etcd.ReadSnapshot(filepath.Join(folder, snapshotFile))
	if err != nil {
		return backup.Manifest{}, fmt.Errorf("take a backup: %w", err)
	}
	contents, err := backup.NewContents(entries, revision)
	if err != nil {
		return backup.Manifest{}, fmt.Errorf("take a backup: %w", err)
	}
	return d.writeBackup(ctx, w, folder, contents)
}

// roomForCopy returns a Problem if the disk has no room to continue the copy of an external etcd, whose size is not
// known.
func (d *daemon) roomForCopy() error {
	free, err := freeBytes(d.Root)
	if err != nil || d.MinFree < 0 || free >= d.MinFree {
		return nil //nolint:nilerr // a disk that can't be asked is not known to be full
	}
	return &api.Problem{Status: http.StatusInsufficientStorage,
		Detail: fmt.Sprintf("a backup needs room on the disk of %s for a copy of the store, and %d MiB must stay free: %d MiB are",
			d.Root, d.MinFree>>20, free>>20), Next: "free some room"}
}

// spool copies the store to a file: while a slow client reads, the store must not wait.
func (d *daemon) spool(ctx context.Context, path string) error {
	if d.external != nil {
		return d.external.SnapshotTo(ctx, path, d.roomForCopy)
	}
	source, ok := d.Store.(snapshotter)
	if !ok {
		return &api.Problem{Status: http.StatusNotImplemented, Detail: "this server's store can't be copied",
			Next: "tend server keeps one that can"}
	}
	if free, err := freeBytes(d.Root); err == nil && d.MinFree >= 0 && free < source.SizeBytes()+d.MinFree {
		return &api.Problem{Status: http.StatusInsufficientStorage,
			Detail: fmt.Sprintf("a backup needs %d MiB on the disk of %s for a copy of the store, and %d MiB must stay free: %d MiB are",
				source.SizeBytes()>>20+1, d.Root, d.MinFree>>20, free>>20), Next: "free some room"}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	return errors.Join(source.Snapshot(ctx, file), file.Close())
}

// writeBackup writes the parts, from the copies in a folder.
func (d *daemon) writeBackup(
	ctx context.Context, w io.Writer, folder string, contents *backup.Contents,
) (backup.Manifest, error) {
	header := backup.Header{Tend: version.Version, Cluster: d.cluster.UID, Revision: contents.Revision(),
		TakenAt: d.Now().UTC(), Plugins: d.installed()}
	blobs := contents.Blobs()
	header.MissingBlobs = d.missingBlobs(ctx, blobs)
	out, err := backup.NewWriter(cutOff{ctx, w}, header)
	if err != nil {
		return backup.Manifest{}, err
	}
	if err := addFile(out, backup.Store, filepath.Join(folder, snapshotFile)); err != nil {
		return backup.Manifest{}, err
	}
	for _, name := range backup.RootFiles {
		if err := addFile(out, backup.RootFolder+name, filepath.Join(folder, name)); err != nil &&
			!errors.Is(err, os.ErrNotExist) {
			return backup.Manifest{}, err
		}
	}
	for _, digest := range blobs {
		if slices.Contains(header.MissingBlobs, digest) {
			continue
		}
		if err := d.addBlob(out, digest); err != nil {
			return backup.Manifest{}, fmt.Errorf("add file %s: %w", digest, err)
		}
	}
	return out.Close()
}

// fetchTime bounds how long a backup waits for files of other servers.
const fetchTime = time.Minute

// missingBlobs copies the files that this server lacks from the others, and returns the digests of those that none has.
func (d *daemon) missingBlobs(ctx context.Context, digests []string) (missing []string) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	for _, digest := range digests {
		there, err := d.files.blobs.Has(digest)
		if err == nil && !there {
			err = d.copyFile(ctx, digest)
		}
		if err != nil {
			missing = append(missing, digest)
			d.Logger.WarnContext(ctx, "a file is missing and not in the backup", "digest", digest, "error", err)
		}
	}
	return missing
}

func addFile(out *backup.Writer, name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return addOpen(out, name, file)
}

func (d *daemon) addBlob(out *backup.Writer, digest string) error {
	file, err := d.files.blobs.Open(digest)
	if err != nil {
		return err
	}
	return addOpen(out, backup.BlobFolder+filepath.Base(file.Name()), file)
}

func addOpen(out *backup.Writer, name string, file *os.File) error {
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return out.Add(name, info.Size(), file)
}

// installed returns the plugins, for the person who has to install them again.
func (d *daemon) installed() (out []backup.Plugin) {
	if d.plugins == nil {
		return nil
	}
	list, err := d.plugins.List()
	if err != nil {
		d.Logger.Warn("the plugins can't be listed in the backup", "error", err)
	}
	for _, p := range list {
		out = append(out, backup.Plugin{Name: p.Name, Version: p.Version, Source: p.Source})
	}
	return out
}

// cutOff is a writer that fails once its context has ended.
type cutOff struct {
	ctx context.Context
	w   io.Writer
}

func (c cutOff) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.w.Write(p)
}

func freeBytes(folder string) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return 0, err
	}
	return int64(disk.Bavail) * int64(disk.Bsize), nil //nolint:unconvert // narrower elsewhere
}
