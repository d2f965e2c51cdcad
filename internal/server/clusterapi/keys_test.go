package clusterapi

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/storefault"
)

// TestJobsAreSigned: jobs are signed with the cluster's own keys, which no other cluster has. However often the keys
// are replaced, the operator's present keys stay valid until it registers with others.
func TestJobsAreSigned(t *testing.T) {
	inHarness(t, func(h *harness) {
		token := h.registered("east")
		h.registered("west")
		keysOf := func(name string, renew bool) (string, string) {
			t.Helper()
			if renew {
				if _, _, err := h.handler.InviteWithNewKeys(h.ctx, name, time.Hour); err != nil {
					t.Fatal(err)
				}
			}
			jobs, approvals, err := h.handler.Keys(h.ctx, name)
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
		if next == secret || strings.Contains(second, first) {
			t.Errorf("renewed: keys %q and %q, secrets %q and %q", first, second, secret, next)
		}
		verify("with the former key", first, nil)
		verify("with the present one", second, nil)
		unused, _, err := h.handler.Invite(h.ctx, "east", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		keysOf("east", true)
		third, _ := keysOf("east", true)
		if strings.Contains(third, first) || strings.Contains(third, second) {
			t.Errorf("renewed again: %q, which has the keys of before: %q, %q", third, first, second)
		}
		verify("three keys later, of which none was applied", first, nil)
		verify("with the last one", third, nil)
		h.want(401, "Unauthorized", h.call(h.ctx, unused, "POST", pull.RegisterPath, pull.Registration{RegistrationToken: unused}))
		invited, _, err := h.handler.Invite(h.ctx, "east", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		token = h.register(invited).Token
		verify("registered with the last one", third, nil)
		verify("with what it had before", first, pull.ErrSignature)
		if _, _, err := h.handler.InviteWithNewKeys(h.ctx, "none", time.Hour); !errors.Is(err, ErrNoCluster) {
			t.Errorf("of no cluster: %v", err)
		}
	})
}

// TestNewKeysComeWithTheirToken: wherever making other keys is cut short, there is a token that an operator can
// register with.
func TestNewKeysComeWithTheirToken(t *testing.T) {
	for _, cut := range []int{1, 2} {
		inHarness(t, func(h *harness) {
			h.declare("east")
			valid, _, err := h.handler.Invite(h.ctx, "east", time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			commits := 0
			h.fate = func(store.Txn) storefault.Fate {
				if commits++; commits >= cut {
					return storefault.Lost
				}
				return storefault.Answered
			}
			if made, _, err := h.handler.InviteWithNewKeys(h.ctx, "east", time.Hour); err == nil {
				valid = made
			}
			h.fate = nil
			h.register(valid)
		})
	}
}
