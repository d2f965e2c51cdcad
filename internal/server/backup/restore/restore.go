package restore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tend.dev/tend/internal/server/backup"
	"tend.dev/tend/internal/store/etcd"
)

// The folders in a root that a restore uses.
const (
	partial  = "restore.partial"
	ready    = "restore.ready"
	replaced = "replaced"
	// member is the restored store, in the data dir: it may be on another disk.
	member = "restore.member"
	// planFile is in ready once the restore is committed.
	planFile = "plan.json"
)

// Options are the target of a restore. Only Root is required.
type Options struct {
	Root string
	// Data is the folder of the store. Default ROOT/state.
	Data string
	// Name is the name of the server. Default: the one in the backup.
	Name string
	// Force moves existing files of a used root aside; by default a used root is refused.
	Force bool
	// Now defaults to the machine's time, Logger to none.
	Now    time.Time
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	var err error
	if o.Root, err = filepath.Abs(o.Root); err != nil {
		return o, err
	}
	if o.Data == "" {
		o.Data = filepath.Join(o.Root, "state")
	}
	if o.Data, err = filepath.Abs(o.Data); err != nil {
		return o, err
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Result describes a finished restore.
type Result struct {
	Report
	// Aside is the folder with the replaced files; empty if none were replaced.
	Aside string
}

// Restore makes a root from a backup, completely or not at all. It returns ErrUsed, ErrBusy, etcd.ErrInUse while a
// server uses the root, and the errors of Verify.
func Restore(ctx context.Context, in io.Reader, o Options) (result Result, err error) {
	if o, err = o.withDefaults(); err != nil {
		return result, err
	}
	site, err := claim(o)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, site.release()) }()
	if err := o.refuseUsed(); err != nil {
		return result, err
	}
	if result.Report, err = o.stage(ctx, in); err != nil {
		return result, fmt.Errorf("nothing was changed: %w", err)
	}
	if result.Aside, err = o.commit(result.Manifest); err != nil {
		return result, fmt.Errorf("nothing was changed: %w", err)
	}
	site.committed = true
	return result, Finish(o.Root, o.Logger)
}

// refuseUsed returns ErrUsed if there is something that the backup would replace.
func (o Options) refuseUsed() error {
	if o.Force {
		return nil
	}
	for _, path := range append(o.replaces(""), filepath.Join(o.Root, "clusters"), filepath.Join(o.Root, "process")) {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%w: there is %s: give an empty --root; or stop its server and add --force, "+
				"which moves what the backup replaces to %s, deletes nothing and leaves containers alone", ErrUsed, path,
				filepath.Join(o.Root, replaced))
		}
	}
	return nil
}

// replaces returns the places of a backup's parts, and with a cluster's uid also the place of its own file.
func (o Options) replaces(cluster string) []string {
	out := []string{filepath.Join(o.Data, "member")}
	for _, name := range backup.RootFiles {
		out = append(out, filepath.Join(o.Root, name))
	}
	if cluster != "" {
		out = append(out, filepath.Join(o.Root, "clusters", cluster))
	}
	return out
}

// stage writes and checks everything next to its final place.
func (o Options) stage(ctx context.Context, in io.Reader) (Report, error) {
	folder := filepath.Join(o.Root, partial)
	for _, name := range []string{"root", "blobs/sha256", "clusters"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o700); err != nil {
			return Report{}, err
		}
	}
	snapshot := filepath.Join(folder, "snapshot.db")
	manifest, err := backup.Read(in, func(_ backup.Header, name string, _ int64, content io.Reader) error {
		if name == backup.Store {
			return writeFile(snapshot, content)
		}
		return writeFile(filepath.Join(folder, filepath.FromSlash(name)), content)
	})
	if err != nil {
		return Report{}, err
	}
	key, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(keyPart)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Report{}, err
	}
	checked, err := report(ctx, manifest, snapshot, key)
	if err != nil {
		return checked, err
	}
	if o.Name != "" {
		path := filepath.Join(folder, "root", "server")
		if err := errors.Join(os.RemoveAll(path), writeFile(path, strings.NewReader(o.Name+"\n"))); err != nil {
			return checked, err
		}
	}
	return checked, o.stageStore(snapshot, manifest)
}

// memberName is the name of the restored store's member until the server has started.
const memberName = "restored"

// stageStore makes the store's folder, and the file that marks the store as restored for the server.
func (o Options) stageStore(snapshot string, manifest backup.Manifest) error {
	if err := etcd.Restore(snapshot, filepath.Join(o.Data, member), memberName, o.Logger); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{
		"revision": manifest.Revision, "restored": true, "backup": manifest.TakenAt.UTC().Format(time.RFC3339),
	})
	if err != nil {
		return err
	}
	path := filepath.Join(o.Root, partial, "clusters", manifest.Cluster)
	return errors.Join(os.Remove(snapshot), writeFile(path, strings.NewReader(string(text)+"\n")))
}

// plan holds the data that Finish needs. It is stored in the folder of staged files.
type plan struct {
	Data    string `json:"data"`
	Cluster string `json:"cluster"`
	// Aside is the folder for the replaced files.
	Aside string `json:"aside"`
}

// commit commits the restore. It returns the folder for the replaced files.
func (o Options) commit(manifest backup.Manifest) (aside string, err error) {
	p := plan{Data: o.Data, Cluster: manifest.Cluster,
		Aside: filepath.Join(o.Root, replaced, o.Now.UTC().Format("20060102T150405Z"))}
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	if err := writeFile(filepath.Join(o.Root, partial, planFile), strings.NewReader(string(text)+"\n")); err != nil {
		return "", err
	}
	for _, folder := range []string{filepath.Join(o.Data, member), filepath.Join(o.Root, partial)} {
		if err := syncTree(folder); err != nil {
			return "", err
		}
	}
	for _, place := range o.replaces(manifest.Cluster) {
		if _, err := os.Lstat(place); err == nil {
			aside = p.Aside
		}
	}
	return aside, os.Rename(filepath.Join(o.Root, partial), filepath.Join(o.Root, ready))
}
