package etcd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"
)

// snapshotPage bounds the keys that are read at once.
const snapshotPage = 500

// SnapshotTo writes a new file at path with everything below the prefix at one revision, in the format of a member's
// snapshot. Keys bound to a lease are left out, as if their leases had ended. It calls room before it writes each part,
// and returns its error. The file is not synced.
func (e *External) SnapshotTo(ctx context.Context, path string, room func() error) error {
	ctx, done, err := e.within(ctx)
	if err != nil {
		return err
	}
	defer done()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoGrowSync: true, NoFreelistSync: true})
	if err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	c := copying{db: db, subs: map[int64]int64{}}
	if err := errors.Join(e.copyTo(ctx, &c, room), db.Close()); err != nil {
		return err
	}
	return appendSum(path)
}

// copyTo copies all pages at the revision of the first one.
func (e *External) copyTo(ctx context.Context, c *copying, room func() error) error {
	from, revision := "\x00", int64(0)
	for more := true; more; {
		if err := room(); err != nil {
			return err
		}
		page, err := e.page(ctx, from, revision)
		if err != nil {
			return e.translate("snapshot", err)
		}
		if revision == 0 {
			revision = page.Header.Revision
			if err := c.begin(revision); err != nil {
				return err
			}
		}
		if err := c.add(page.Kvs); err != nil {
			return err
		}
		if more = page.More && len(page.Kvs) > 0; more {
			from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
		}
	}
	return nil
}

// page reads a page of keys that begins at from, at a revision; 0 is the newest.
func (e *External) page(ctx context.Context, from string, revision int64) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return e.read(ctx, from, clientv3.WithFromKey(), clientv3.WithRev(revision), clientv3.WithLimit(snapshotPage),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
}

// copying is a member's database, filled from another etcd.
type copying struct {
	db *bbolt.DB
	// subs counts the keys of each revision so far. Their order within their transaction is unknown, and not needed.
	subs map[int64]int64
}

// begin makes the database of a member whose history before a revision is compacted.
func (c *copying) begin(revision int64) error {
	return c.update(func(tx *bbolt.Tx) error {
		for _, bucket := range schema.AllBuckets {
			if _, err := tx.CreateBucketIfNotExists(bucket.Name()); err != nil {
				return err
			}
		}
		at := mvcc.RevToBytes(mvcc.Revision{Main: revision}, mvcc.NewRevBytes())
		meta := tx.Bucket(schema.Meta.Name())
		return errors.Join(meta.Put(schema.ScheduledCompactKeyName, at), meta.Put(schema.FinishedCompactKeyName, at))
	})
}

func (c *copying) add(entries []*mvccpb.KeyValue) error {
	return c.update(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(schema.Key.Name())
		for _, kv := range entries {
			if kv.Lease != 0 {
				continue
			}
			value, err := proto.Marshal(kv)
			if err != nil {
				return err
			}
			at := mvcc.Revision{Main: kv.ModRevision, Sub: c.subs[kv.ModRevision]}
			c.subs[kv.ModRevision]++
			if err := bucket.Put(mvcc.RevToBytes(at, mvcc.NewRevBytes()), value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *copying) update(change func(*bbolt.Tx) error) error {
	if err := c.db.Update(change); err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	return nil
}

// appendSum appends the checksum of a file to it.
func appendSum(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	if err == nil {
		_, err = io.Copy(file, bytes.NewReader(hash.Sum(nil)))
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	return nil
}
