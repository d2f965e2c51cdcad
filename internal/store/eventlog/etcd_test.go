//go:build !race

package eventlog_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
)

func init() {
	backends["etcd"] = func(t testing.TB) store.Store {
		s, err := etcd.Open(t.Context(),
			etcd.Options{DataDir: filepath.Join(t.TempDir(), "state"), Ballast: -1, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}
