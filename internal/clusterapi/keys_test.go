package clusterapi

import (
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api/pull"
)

// TestJobsAreSigned: with the keys that a cluster was given, which no other cluster has. When they are replaced, an operator that
// knows the former ones goes on until they are replaced again.
func TestJobsAreSigned(t *testing.T) {
	inHarness(t, func(h *harness) {
		token := h.registered("east")
		h.registered("west")
		keysOf := func(name string, renew bool) (string, string) {
			t.Helper()
			jobs, approvals, err := h.handler.Keys(h.ctx, name, renew)
			if err != nil {
				t.Fatal(err)
			}
			return jobs, approvals
		}
		verify := func(what, keys string, want error) {
			t.Helper()
			job := h.poll(token, 0)[0]
			if job.Object != "uid-cloud.1" {
				t.Errorf("%s: the job is of %q", what, job.Object)
			}
			if err := pull.Verify(job, "east", keys); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		h.put(instance("cloud", 1))
		first, secret := keysOf("east", false)
		verify("as it was registered", first, nil)
		if other, _ := keysOf("west", false); other == first {
			t.Error("two clusters have one key")
		} else {
			verify("another cluster's key", other, pull.ErrSignature)
		}
		second, next := keysOf("east", true)
		if next == secret || !strings.Contains(second, first) {
			t.Errorf("renewed: keys %q and %q, secrets %q and %q", first, second, secret, next)
		}
		verify("with the former key", first, nil)
		verify("with the present one", strings.Fields(second)[0], nil)
		keysOf("east", true)
		verify("two keys later", first, pull.ErrSignature)
		if _, _, err := h.handler.Keys(h.ctx, "none", true); !errors.Is(err, ErrNoCluster) {
			t.Errorf("of no cluster: %v", err)
		}
	})
}
