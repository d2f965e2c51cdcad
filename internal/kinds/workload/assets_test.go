package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// file stamps the deployment with the digest of a file it uses, as an apply of the asset does.
func (l *harness) file(digest string) {
	l.Helper()
	l.stamp(api.StampAssets, `{"prod.conf.a":"`+digest+`"}`)
}

// wantFile asserts which file digest the release in force runs with, and why the release was made.
func (l *harness) wantFile(release, digest, why string) {
	l.Helper()
	l.settle()
	got := l.inForce()
	if got == nil || got.ID != release || got.Reason != why {
		l.Errorf("in force is %+v, want %s because %q", got, release, why)
		return
	}
	if diff := cmp.Diff(map[string]string{"prod.conf.a": digest}, got.AssetDigests); diff != "" {
		l.Errorf("%s runs with:\n%s", release, diff)
	}
	for _, task := range l.live() {
		if task.Release != release {
			l.Errorf("%s is still of %s", task.ID, task.Release)
		}
	}
}

func TestAChangedFileRolls(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(2, "web:1"))
	l.file("one")
	l.wantFile("v1", "one", "first release")
	l.file("one")
	l.wantFile("v1", "one", "first release")
	l.file("two")
	l.wantFile("v2", "two", "asset changed")
}

func TestARollbackRunsTheFilesOfItsRelease(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(2, "web:1"))
	l.file("one")
	l.wantFile("v1", "one", "first release")
	l.file("two")
	l.wantFile("v2", "two", "asset changed")
	l.rollBack("v1")
	l.wantFile("v3", "one", "rollback to v1")
	l.stamp(api.StampRollback, "") // as the next apply of the asset does
	l.file("three")
	l.wantFile("v4", "three", "asset changed")
}

// A corrected file is tried, although the spec is the same that an automatic rollback turned away from.
func TestACorrectedFileEndsAnAutomaticRollback(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(2, "web:1"))
	l.file("one")
	l.wantFile("v1", "one", "first release")
	l.fails["v2"] = true
	l.file("broken")
	l.wantFile("v1", "one", "first release")
	if l.status().Rollout.Failed == nil {
		t.Fatal("nothing was turned away from")
	}
	l.file("fixed")
	l.wantFile("v3", "fixed", "asset changed")
}
