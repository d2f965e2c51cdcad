//go:build integration

package daemon

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// TestRestoredEtcd is TestRestoredStoreStartsPaused on real parts: an older copy of etcd's folder, and plain processes.
// A server that was killed does not count as restored.
func TestRestoredEtcd(t *testing.T) {
	t.Parallel()
	s := newSurvivor(t, buildTend(t), "store.cluster.found.before:99")
	roll := func(version string) {
		s.declare("apply", func(ctx context.Context) error {
			_, err := s.client.Apply(ctx, api.ApplyRequest{Objects: []api.Object{s.manifest(version)}})
			return err
		})
		s.until("three run "+version, func(ctx context.Context) bool {
			return slices.Equal(s.lives(ctx), []string{version, version, version})
		})
	}
	roll("v1")
	s.terminate()
	state, older := filepath.Join(s.root, "state"), filepath.Join(t.TempDir(), "state")
	if err := os.CopyFS(older, os.DirFS(filepath.Join(state, "member"))); err != nil {
		t.Fatal(err)
	}
	s.start()
	roll("v2")
	_ = s.server.Process.Kill()
	<-s.ended
	s.start()
	s.until("a killed server doesn't count as restored", func(ctx context.Context) bool {
		return slices.Equal(s.lives(ctx), []string{"v2", "v2", "v2"})
	})
	s.terminate()
	before := s.processes("")

	if err := os.RemoveAll(filepath.Join(state, "member")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(state, "member"), os.DirFS(older)); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.until("it is paused and knows what runs", func(ctx context.Context) bool {
		readiness, err := s.client.Readiness(ctx)
		if err != nil || !strings.Contains(strings.Join(readiness.Missing, " "), "paused") {
			return false
		}
		nodes, err := s.client.Nodes(ctx)
		return err == nil && len(nodes.Items) == 1 && len(nodes.Items[0].Quarantined) == 3
	})
	if diff := cmp.Diff(before, s.processes("")); diff != "" {
		t.Errorf("paused, it changed what runs (-before +after):\n%s", diff)
	}
	if _, err := s.client.Resume(t.Context(), api.UnknownStop); err != nil {
		t.Fatal(err)
	}
	s.until("three run v1", func(ctx context.Context) bool { return slices.Equal(s.lives(ctx), []string{"v1", "v1", "v1"}) })
	if left := s.processes("web-v2"); len(left) > 0 {
		t.Errorf("these run beside them: %v", left)
	}
}
