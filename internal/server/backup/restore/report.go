package restore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server/backup"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
)

// Report describes the content of a backup.
type Report struct {
	backup.Manifest
	// Objects counts the objects of each kind.
	Objects map[api.Kind]int `json:"objects"`
	// Running are the runs that had not ended, as kind/scope/name and id.
	Running []string `json:"running,omitempty"`
	// Nodes lists the nodes in the store.
	Nodes []string `json:"nodes,omitempty"`
}

// Verify reads a whole backup and checks it: every checksum, the store and its pages, that the key is the store's, and
// that every blob to which the store refers is inside. It writes only the store to disk, in a folder of its own below
// temp, which it removes. It returns backup's errors, etcd.ErrDamaged, and ErrIncomplete.
func Verify(ctx context.Context, in io.Reader, temp string) (Report, error) {
	folder, err := os.MkdirTemp(temp, "tend-verify-")
	if err != nil {
		return Report{}, fmt.Errorf("write the store to check it: %w", err)
	}
	defer os.RemoveAll(folder)
	snapshot, key := filepath.Join(folder, "snapshot.db"), &bytes.Buffer{}
	manifest, err := backup.Read(in, func(_ backup.Header, name string, _ int64, content io.Reader) error {
		switch name {
		case backup.Store:
			return writeFile(snapshot, content)
		case keyPart:
			_, err := io.Copy(key, io.LimitReader(content, maxKey))
			return err
		}
		return nil
	})
	if err != nil {
		return Report{}, err
	}
	return report(ctx, manifest, snapshot, key.Bytes())
}

const (
	keyPart = backup.RootFolder + "secret.key"
	maxKey  = 64 << 10
)

// report checks the parts of a backup against each other.
func report(ctx context.Context, manifest backup.Manifest, snapshot string, key []byte) (Report, error) {
	out := Report{Manifest: manifest, Objects: map[api.Kind]int{}}
	if !slices.ContainsFunc(manifest.Parts, func(p backup.Part) bool { return p.Name == backup.Store }) {
		return out, fmt.Errorf("%w: it holds no store", ErrIncomplete)
	}
	if err := etcd.CheckSnapshot(ctx, snapshot); err != nil {
		return out, err
	}
	entries, revision, err := etcd.ReadSnapshot(snapshot)
	if err != nil {
		return out, err
	}
	contents, err := backup.NewContents(entries, revision)
	if err != nil {
		return out, fmt.Errorf("%w: %w", backup.ErrDamaged, err)
	}
	if err := belongs(manifest, contents, key); err != nil {
		return out, err
	}
	out.describe(contents)
	return out, nil
}

// belongs checks that the parts belong together.
func belongs(manifest backup.Manifest, contents *backup.Contents, key []byte) error {
	uid, want, err := contents.Cluster()
	if err != nil {
		return err
	}
	if uid != manifest.Cluster || contents.Revision() != manifest.Revision {
		return fmt.Errorf("%w: its store is that of cluster %s at revision %d, its manifest says %s at %d",
			backup.ErrDamaged, uid, contents.Revision(), manifest.Cluster, manifest.Revision)
	}
	if len(key) == 0 {
		return fmt.Errorf("%w: it holds no secret.key", ErrIncomplete)
	}
	if holds, err := secret.HoldsKey(key, want); err != nil || !holds {
		return fmt.Errorf("%w: its secret.key is not that of its store", ErrIncomplete)
	}
	inside := manifest.Blobs()
	for _, digest := range contents.Blobs() {
		if !inside[digest] && !slices.Contains(manifest.MissingBlobs, digest) {
			return fmt.Errorf("%w: the store refers to blob %s, which is not inside", ErrIncomplete, digest)
		}
	}
	return nil
}

func (r *Report) describe(contents *backup.Contents) {
	for _, kind := range api.Kinds {
		if n := contents.Count(records.DesiredPrefix + string(kind) + "/"); n > 0 {
			r.Objects[kind] = n
		}
	}
	for record := range contents.Prefix(records.RunsPrefix) {
		if run, ok := record.Value.(*api.Run); ok && !run.State.Ended() {
			r.Running = append(r.Running, run.Owner().String()+" "+run.ID)
		}
	}
	for record := range contents.Prefix(records.ActualNodesPrefix) {
		r.Nodes = append(r.Nodes, strings.TrimPrefix(record.Key, records.ActualNodesPrefix))
	}
}

// writeFile writes and syncs a new file that only its owner may read.
func writeFile(path string, content io.Reader) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(file, content); err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
