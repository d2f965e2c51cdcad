package verbs

import (
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestRollbackFromWhatNeverBecameARelease: a manifest whose image can't be had is undone to the last good release, the
// one in force; the next rollback goes to the one before that, and says so when there is none.
func TestRollbackFromWhatNeverBecameARelease(t *testing.T) {
	w := rollbackWorld(t, nil, "hash", nil)
	web := ref("prod", "web")
	asks := func(image string) {
		w.put(records.ImageKey(web), api.ImageRequest{Owner: web, Image: image})
	}
	w.put(records.StatusKey(web), api.WorkloadStatus{
		Outcomes: map[string]api.ReleaseOutcome{"v1": {Good: true}, "v2": {Good: true}}})
	w.mustApply(deployment("prod", "web", `{"image":"web:nope","replicas":4}`))
	asks("web:nope")
	rolled := func() api.VerbResult {
		t.Helper()
		result, err := w.service.Rollback(t.Context(), TargetOf(web), RollbackOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	first := rolled()
	if first.Release != "v2" || !first.Changed || first.Unreleased != "web:nope" {
		t.Errorf("the first: %+v", first)
	}
	if said, want := rolledBack(web, rollbackInput{}, first),
		"deployment/prod/web rolling back to v2: no release has image web:nope\n"; !strings.HasPrefix(said, want) {
		t.Errorf("it says %q, want %q", said, want)
	}
	if again := rolled(); again.Release != "v2" || again.Changed {
		t.Errorf("the same again, before a controller has seen the first: %+v", again)
	}
	asks("web:2")
	if second := rolled(); second.Release != "v1" || second.Unreleased != "" {
		t.Errorf("the second: %+v", second)
	}
	if _, err := records.NewTxn("test").Delete(records.ReleaseKey(web, "v2")).Commit(t.Context(), w.store); err != nil {
		t.Fatal(err)
	}
	asks("web:1")
	_, err := w.service.Rollback(t.Context(), TargetOf(web), RollbackOptions{})
	var refused *Error
	if !errors.As(err, &refused) || refused.Detail !=
		"deployment/prod/web has no release to return to: there is only v1, which it runs already" {
		t.Errorf("with nothing to return to: %+v", err)
	}
}

// TestRollbackToAReleaseThatIsNotKept names those that it can return to, and not the one that runs.
func TestRollbackToAReleaseThatIsNotKept(t *testing.T) {
	w := rollbackWorld(t, nil, "hash", nil)
	web := ref("prod", "web")
	refusal := func() (refused *Error) {
		t.Helper()
		_, err := w.service.Rollback(t.Context(), TargetOf(web), RollbackOptions{Release: "v9"})
		if !errors.As(err, &refused) {
			t.Fatalf("a rollback to v9: %v", err)
		}
		return refused
	}
	if got := refusal(); got.Next != "releases that you can return to: v1" {
		t.Errorf("with v1 and v2: %s / %s", got.Detail, got.Next)
	}
	w.put(records.ImageKey(web), api.ImageRequest{Owner: web, Image: "web:nope"})
	if got := refusal(); got.Next != "releases that you can return to: v1, v2" {
		t.Errorf("with an image that no release has: %s / %s", got.Detail, got.Next)
	}
	w.put(records.ImageKey(web), api.ImageRequest{Owner: web, Image: "web:1"})
	w.mustApply(deployment("prod", "web", `{"image":"web:1","replicas":4}`))
	if got := refusal(); got.Next != "releases that you can return to: v1, v2" {
		t.Errorf("with a manifest that is not rolled out yet: %s / %s", got.Detail, got.Next)
	}
	if _, err := records.NewTxn("test").Delete(records.ReleaseKey(web, "v2")).Commit(t.Context(), w.store); err != nil {
		t.Fatal(err)
	}
	if got := refusal(); got.Detail != "deployment/prod/web has no release v9: there is only v1, which it runs already" ||
		got.Next != "change the manifest and apply it" {
		t.Errorf("with v1 alone: %s / %s", got.Detail, got.Next)
	}
}
