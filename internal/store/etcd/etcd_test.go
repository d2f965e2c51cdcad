package etcd_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/storetest"
)

func TestMain(m *testing.M) {
	// A watch of history waits for etcd's next round, 100 ms: fewer random histories than on the memory backend.
	if err := flag.Set("rapid.checks", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func open(t *testing.T, opts etcd.Options) *etcd.Store {
	t.Helper()
	if opts.DataDir == "" {
		opts.DataDir = filepath.Join(t.TempDir(), "state")
	}
	opts.Ballast = -1
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
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, etcd.Options{}) })
}

func TestDataDirIsPrivateAndNothingListensOnTCP(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	open(t, etcd.Options{DataDir: dir})
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v; want 0700", info.Mode(), err)
	}
	for _, socket := range []string{"client.sock", "peer.sock"} {
		if info, err := os.Lstat(filepath.Join(dir, socket)); len(dir) < 90 && (err != nil || info.Mode()&os.ModeSocket == 0) {
			t.Errorf("%s is no socket: %v", socket, err)
		}
	}
}

func TestSecondProcessIsToldWhoHoldsTheData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	open(t, etcd.Options{DataDir: dir})
	_, err := etcd.Open(context.Background(), etcd.Options{DataDir: dir})
	if !errors.Is(err, etcd.ErrInUse) || !strings.Contains(err.Error(), "held by process") {
		t.Errorf("%v; want ErrInUse that names the process", err)
	}
}

func TestReopenedStoreHasEverything(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), strings.Repeat("a-long-name-", 12)) // too long for a socket's path
	s := open(t, etcd.Options{DataDir: dir})
	revision, err := s.Commit(ctx, store.Txn{Do: []store.Op{{Key: "/a", Value: []byte("1")}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, etcd.Options{DataDir: dir})
	got, err := again.Get(ctx, "/a")
	if err != nil || string(got.Value) != "1" || got.Modified != revision {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFullDatabaseRecovers(t *testing.T) {
	ctx := context.Background()
	s := open(t, etcd.Options{Quota: 8 << 20})
	for i := range 64 {
		// The same key over and over: only history fills the quota.
		_, err := s.Commit(ctx, store.Txn{Do: []store.Op{{Key: "/a", Value: make([]byte, 1<<20)}}})
		if err != nil {
			t.Fatalf("commit %d: %v", i, err)
		}
	}
}

func TestNearlyFullDiskRefusesWritesAndAllowsDeletes(t *testing.T) {
	ctx := context.Background()
	s := open(t, etcd.Options{MinFree: 1 << 60})
	_, err := s.Commit(ctx, store.Txn{Do: []store.Op{{Key: "/a", Value: []byte("1")}}})
	if !errors.Is(err, store.ErrNoSpace) || !strings.Contains(err.Error(), "free") {
		t.Errorf("%v; want ErrNoSpace with what is free", err)
	}
	if _, err := s.Commit(ctx, store.Txn{Do: []store.Op{{Key: "/a", Delete: true}}}); err != nil {
		t.Errorf("a deletion: %v", err)
	}
}

func TestURLsBeyondLoopbackAreRefused(t *testing.T) {
	for _, url := range []string{"http://0.0.0.0:2379", "https://127.0.0.1:2379", "127.0.0.1:2379", "http://10.0.0.1:2379"} {
		_, err := etcd.Open(context.Background(), etcd.Options{DataDir: t.TempDir(), ClientURL: url})
		if err == nil {
			t.Errorf("%s was accepted", url)
		}
	}
}
