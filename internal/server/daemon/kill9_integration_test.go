//go:build integration

package daemon

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// killedAt are the points of TestKilledProcess: one of each stage of a deployment's life. The build tag long adds the
// others.
var killedAt = []string{
	"store.election.after", "store.apply.after", "store.deployment.release.after", "runtime.create.after",
	"runtime.stop.after", "store.deployment.finalize.before",
}

// TestKilledProcess is TestEveryFailpoint on real parts: the built binary, its embedded etcd and plain processes,
// killed by SIGKILL at points chosen from every stage of a deployment's life.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	binary := buildTend(t)
	work := make(chan string)
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for point := range work {
				t.Run(point, func(t *testing.T) { survive(t, binary, point) })
			}
		})
	}
	for _, point := range killedAt {
		work <- point
	}
	close(work)
	workers.Wait()
}

// survive runs a deployment's life with a server that is killed at a point.
func survive(t *testing.T, binary, point string) {
	s := newSurvivor(t, binary, point)
	for _, version := range []string{"v1", "v2"} {
		s.declare("apply", func(ctx context.Context) error {
			_, err := s.client.Apply(ctx, api.ApplyRequest{Objects: []api.Object{s.manifest(version)}})
			return err
		})
		s.until("three run "+version, func(ctx context.Context) bool {
			return slices.Equal(s.lives(ctx), []string{version, version, version})
		})
	}
	if diff := cmp.Diff([]string{"v1 web-v1", "v2 web-v2"}, s.releases()); diff != "" {
		t.Errorf("releases (-want +got):\n%s", diff)
	}
	if processes := s.processes("web-v1"); len(processes) > 0 {
		t.Errorf("processes of the replaced release run on: %v", processes)
	}
	if processes := s.processes("web-v2"); len(processes) != 3 {
		t.Errorf("%d processes run the release, want 3: %v", len(processes), processes)
	}
	s.declare("delete", func(ctx context.Context) error {
		_, err := s.client.Delete(ctx, web)
		if client.IsNotFound(err) && s.deaths > 0 {
			return nil // the dead server heard it
		}
		return err
	})
	s.until("the object is gone", func(ctx context.Context) bool {
		_, err := s.client.Object(ctx, web)
		return client.IsNotFound(err)
	})
	if left := s.processes(""); len(left) > 0 {
		t.Errorf("processes left behind: %v", left)
	}
	if s.deaths != 1 {
		t.Errorf("the server died %d times, want once", s.deaths)
	}
}
