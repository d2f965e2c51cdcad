package etcd_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/storetest"
)

func TestMain(m *testing.M) {
	// A watch of history waits for etcd's next round, 100 ms: fewer random histories than on the memory backend.
	if err := flag.Set("rapid.checks", "5"); err != nil {
		panic(err)
	}
	if child(os.Getenv("TEND_ETCD_CHILD")) {
		return
	}
	// etcd leaves the connections between members to end when they are idle; nothing else here uses HTTP.
	var between []goleak.Option
	for _, function := range []string{"(*persistConn).writeLoop", "(*persistConn).readLoop", "(*conn).serve",
		"(*connReader).backgroundRead", "(*Transport).dialConnFor"} {
		between = append(between, goleak.IgnoreAnyFunction("net/http."+function))
	}
	goleak.VerifyTestMain(m, between...)
}

func open(t *testing.T, opts etcd.Options) *etcd.Store {
	t.Helper()
	if opts.DataDir == "" {
		opts.DataDir = filepath.Join(t.TempDir(), "state")
	}
	if opts.Ballast == 0 {
		opts.Ballast = -1
	}
	s, err := etcd.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, etcd.Options{}) })
}

func TestDataDirIsPrivateAndNothingListensOnTCP(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	open(t, etcd.Options{DataDir: dir})
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v; want 0700", info.Mode(), err)
	}
	mustHaveSockets(t, dir)
}

// mustHaveSockets checks that the member listens in its data dir.
func mustHaveSockets(t *testing.T, dir string) {
	t.Helper()
	for _, socket := range []string{"client.sock", "peer.sock"} {
		if info, err := os.Lstat(filepath.Join(dir, socket)); err != nil || info.Mode()&os.ModeSocket == 0 {
			t.Errorf("%s is not a socket: %v", socket, err)
		}
	}
}

// longDir returns a data dir whose path is too long for a socket's.
func longDir(t *testing.T) string {
	return filepath.Join(t.TempDir(), strings.Repeat("a-long-name-", 12))
}

func TestErrInUseNamesTheProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	open(t, etcd.Options{DataDir: dir})
	_, err := etcd.Open(context.Background(), etcd.Options{DataDir: dir})
	holder := fmt.Sprintf("held by process %d:", os.Getpid())
	if !errors.Is(err, etcd.ErrInUse) || !strings.Contains(err.Error(), holder) {
		t.Errorf("%v; want ErrInUse, %q", err, holder)
	}
}

func TestReopenedStoreHasEverything(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := longDir(t)
	s := open(t, etcd.Options{DataDir: dir})
	revision, err := s.Commit(ctx, store.Txn{Do: []store.Op{{Key: "/a", Value: []byte("1")}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "client.sock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket after Close: %v; want it gone", err)
	}
	again := open(t, etcd.Options{DataDir: dir})
	mustHaveSockets(t, dir)
	got, err := again.Get(ctx, "/a")
	if err != nil || string(got.Value) != "1" || got.Modified != revision {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFullDatabaseRecovers(t *testing.T) {
	t.Parallel()
	p := &packings{Handler: slog.DiscardHandler}
	s := open(t, etcd.Options{Quota: 8 * mib, Logger: slog.New(p)})
	n := 0
	for ; p.n.Load() < 3 && n < 1000; n++ {
		commit(t, s, put("/a", make([]byte, mib))) // the same key over and over: only history fills the quota
	}
	if packed := p.n.Load(); packed < 3 || n < 3*4 {
		t.Errorf("packed %d times for %d MiB in a quota of 8", packed, n)
	}
}

func TestNearlyFullDiskRefusesWritesAndAllowsDeletes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	free, err := etcd.FreeDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		reason            string
		minFree           int64
		writes, deletions bool
	}{
		"plenty":     {"nothing is refused", free / 4, true, true},
		"below":      {"deletions are the way out", free * 2, false, true},
		"far below":  {"even a deletion takes room in the log", free * 16, false, false},
		"not minded": {"negative is never", -1, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, etcd.Options{MinFree: c.minFree})
			_, err := s.Commit(ctx, store.Txn{Do: []store.Op{put("/a", nil)}})
			mustPass(t, c.reason+": a write", c.writes, err)
			_, err = s.Commit(ctx, store.Txn{Do: []store.Op{{Key: "/a", Delete: true}}})
			mustPass(t, c.reason+": a deletion", c.deletions, err)
			_, err = s.Grant(ctx, 1)
			mustPass(t, c.reason+": a lease", c.deletions, err)
			if _, err := s.List(ctx, "/", store.ListOptions{}); err != nil {
				t.Errorf("a read: %v", err)
			}
		})
	}
}

func TestURLsBeyondLoopbackAreRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://0.0.0.0:2379", "https://127.0.0.1:2379", "127.0.0.1:2379",
		"http://10.0.0.1:2379"} {
		_, err := etcd.Open(context.Background(), etcd.Options{DataDir: t.TempDir(), ClientURL: url})
		if err == nil {
			t.Errorf("%s was accepted", url)
		}
	}
}

func TestEmptyStoreTakesLittleDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	open(t, etcd.Options{DataDir: dir})
	var size int64
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := os.Stat(path)
		if err == nil {
			size += info.Size()
		}
		return nil // a file may have been renamed meanwhile
	})
	if err != nil || size > 64<<20 {
		t.Errorf("%d MiB, %v; want at most 64 MiB", size>>20, err)
	}
}

func TestCloseEndsWatchesAndEveryCall(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, etcd.Options{})
	unread := s.Watch(ctx, "/", 0)
	for range 3 {
		commit(t, s, put("/a", []byte("1")))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// Close waited for the watch: it ended although its batches were not read.
	if batch, open := <-unread.Batches(); open || !errors.Is(unread.Err(), store.ErrClosed) {
		t.Errorf("watch: %v, %v; want ErrClosed", batch, unread.Err())
	}
	late := s.Watch(ctx, "/", 1)
	if _, open := <-late.Batches(); open || !errors.Is(late.Err(), store.ErrClosed) {
		t.Errorf("watch after Close: %v; want ErrClosed", late.Err())
	}
}

func put(key string, value []byte) store.Op { return store.Op{Key: key, Value: value} }

func commit(t *testing.T, s store.Store, ops ...store.Op) int64 {
	t.Helper()
	revision, err := s.Commit(context.Background(), store.Txn{Site: "test", Do: ops})
	if err != nil {
		t.Fatal(err)
	}
	return revision
}
