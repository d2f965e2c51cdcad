package etcd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"

	"tend.dev/tend/internal/store"
)

// ErrSnapshot means that a file isn't a complete snapshot of a store.
var ErrSnapshot = errors.New("not a complete snapshot")

// Snapshot writes the whole store, as it is at one revision, to w, followed by its checksum. While w is slow, the
// database can't be packed: write to a file. It returns ErrClosed, and w's errors.
func (s *Store) Snapshot(ctx context.Context, w io.Writer) error {
	ctx, done, err := s.within(ctx)
	if err != nil {
		return err
	}
	defer done()
	// A linearizable read: a member that lags would be copied as it was.
	if _, err := s.read(ctx, nothing); err != nil {
		return s.translate("snapshot", err)
	}
	source, err := s.client.Snapshot(ctx)
	if err != nil {
		return s.translate("snapshot", err)
	}
	defer source.Close()
	if _, err := io.Copy(w, source); err != nil {
		return fmt.Errorf("copy the snapshot: %w", err)
	}
	return nil
}

// CheckSnapshot checks the checksum at the end of a snapshot's file, and its pages. It returns ErrSnapshot if the file
// was cut or changed, and ErrDamaged if its database was damaged before it was copied.
func CheckSnapshot(ctx context.Context, path string) error {
	if err := checkSum(path); err != nil {
		return err
	}
	if fault := faultInChild(ctx, path); fault != "" {
		return fmt.Errorf("%w: %s", ErrDamaged, fault)
	}
	return nil
}

// checkSum compares the sum at the end of the file with that of the rest.
func checkSum(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size()%512 != sha256.Size {
		return fmt.Errorf("%w: %d bytes are not a database and its checksum", ErrSnapshot, info.Size())
	}
	hash, sum := sha256.New(), make([]byte, sha256.Size)
	if _, err := io.CopyN(hash, file, info.Size()-sha256.Size); err != nil {
		return err
	}
	if _, err := io.ReadFull(file, sum); err != nil {
		return err
	}
	if [sha256.Size]byte(hash.Sum(nil)) != [sha256.Size]byte(sum) {
		return fmt.Errorf("%w: its checksum doesn't match its bytes", ErrSnapshot)
	}
	return nil
}

// ReadSnapshot returns the entries of a snapshot's file by key, and its revision. It holds all of them in memory.
func ReadSnapshot(path string) (entries map[string]store.Entry, revision int64, err error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	defer db.Close()
	entries = map[string]store.Entry{}
	err = db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(schema.Key.Name())
		if bucket == nil {
			return fmt.Errorf("%w: it holds no keys", ErrSnapshot)
		}
		if err := bucket.ForEach(func(k, v []byte) error { return readRevision(entries, &revision, k, v) }); err != nil {
			return err
		}
		// The newest revision may have been a deletion that was compacted since.
		if meta := tx.Bucket(schema.Meta.Name()); meta != nil {
			if compacted := meta.Get(schema.FinishedCompactKeyName); len(compacted) > 0 {
				revision = max(revision, mvcc.BytesToRev(compacted).Main)
			}
		}
		return nil
	})
	return entries, revision, err
}

// readRevision adds one change of a key to entries. The changes come in the order of their revisions.
func readRevision(entries map[string]store.Entry, revision *int64, k, v []byte) error {
	var kv mvccpb.KeyValue
	if err := proto.Unmarshal(v, &kv); err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	*revision = mvcc.BytesToRev(k).Main
	switch {
	case len(kv.Key) == 0: // the key by which a restore raised the revision
	case mvcc.IsTombstone(k):
		delete(entries, string(kv.Key))
	default:
		entries[string(kv.Key)] = entry(&kv)
	}
	return nil
}
