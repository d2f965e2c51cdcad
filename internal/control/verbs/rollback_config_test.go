package verbs

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/store/records"
)

// rollbackWorld has releases v1 of web:1 and v2 of web:2, and says what changed in config since v1.
func rollbackWorld(t *testing.T, since api.ConfigDifferences, now string, cause error) *world {
	w := newWorld(t, func(o *Options) {
		o.ConfigSince = func(records.Snapshot, api.Object, api.Release) (api.ConfigDifferences, string, error) {
			return since, now, cause
		}
		o.Seal = func(plain []byte) ([]byte, error) { return plain, nil }
		o.Open = func(sealed []byte) ([]byte, error) { return sealed, nil }
		o.EnvHash = func(_ records.Snapshot, _ api.Object, change env.Change) (string, error) {
			return "hash" + change.Set["A"], nil
		}
	})
	w.mustApply(deployment("prod", "web", `{"image":"web:2","replicas":4}`))
	w.release(1, "web:1", "a")
	w.release(2, "web:2", "b")
	return w
}

var rotatedKeys = api.ConfigDifferences{{Key: "DB", Since: api.ConfigChanged}, {Key: "OLD", Since: api.ConfigRemoved}}

// A rollback names the changed keys of config, in a dry run too. The stamp records whether it restores them.
func TestRollbackNamesConfig(t *testing.T) {
	for name, opts := range map[string]RollbackOptions{"config stays": {}, "with config": {WithConfig: true}} {
		w := rollbackWorld(t, rotatedKeys, "hash", nil)
		want := map[bool]string{false: api.RollbackKeepsConfig, true: "hash"}[opts.WithConfig]
		opts.DryRun = true
		planned, err := w.service.Rollback(t.Context(), TargetOf(ref("prod", "web")), opts)
		if err != nil || !planned.DryRun || planned.Config.String() != "DB changed, OLD removed" ||
			w.object(ref("prod", "web")).Metadata.Generation != 1 {
			t.Errorf("%s: a dry run: %+v, %v", name, planned, err)
		}
		opts.DryRun = false
		done, err := w.service.Rollback(t.Context(), TargetOf(ref("prod", "web")), opts)
		if err != nil || !done.Changed || done.WithConfig != opts.WithConfig ||
			done.Config.String() != "DB changed, OLD removed" {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
		if got := w.object(ref("prod", "web")).Metadata.Stamps[api.StampRollbackConfig]; got != want {
			t.Errorf("%s: the stamp is %q, want %q", name, got, want)
		}
		again, err := w.service.Rollback(t.Context(), TargetOf(ref("prod", "web")),
			RollbackOptions{Release: "v1", WithConfig: opts.WithConfig})
		if err != nil || again.Changed {
			t.Errorf("%s: the same again changed something: %+v, %v", name, again, err)
		}
		w.mustApply(deployment("prod", "web", `{"image":"web:3","replicas":4}`))
		if stamps := w.object(ref("prod",
			"web")).Metadata.Stamps; stamps[api.StampRollback]+stamps[api.StampRollbackConfig] != "" {
			t.Errorf("%s: the next apply left %v", name, stamps)
		}
	}
}

// A release that differs in config alone is nothing to return to, unless config is to come back.
func TestRollbackOfConfigAlone(t *testing.T) {
	w := rollbackWorld(t, rotatedKeys, "hash", nil)
	w.release(1, "web:2", "b")
	w.put(records.ReleaseKey(ref("prod", "web"), "v1"),
		api.Release{ID: "v1", Number: 1, Kind: api.KindDeployment, Scope: "prod", Name: "web",
			Spec: json.RawMessage(`{"image":"web:2"}`), SpecHash: "b", ImageID: "web:2", EnvHash: "earlier"})
	_, err := w.service.Rollback(t.Context(), TargetOf(ref("prod", "web")), RollbackOptions{})
	refused := wantReason(t, err, Invalid)
	if !strings.Contains(refused.Detail, "in config alone") ||
		!strings.Contains(refused.Detail, "DB changed, OLD removed") ||
		!strings.Contains(refused.Next, "tend rollback prod/web v1 --with-config") {
		t.Errorf("it says %q, next %q", refused.Detail, refused.Next)
	}
	done, err := w.service.Rollback(t.Context(), TargetOf(ref("prod", "web")), RollbackOptions{WithConfig: true})
	if err != nil || !done.Changed || done.Release != "v1" {
		t.Errorf("with config: %+v, %v", done, err)
	}
}

// Where the config of today lacks what the release needs, a rollback says so before anything is stored.
func TestRollbackWithoutItsConfig(t *testing.T) {
	w := rollbackWorld(t, nil, "unbuilt",
		errors.New("secret_files names TOKEN, and no config has a value for it: tend config set prod/web TOKEN=- (it asks for the value)"))
	_, err := w.service.Rollback(t.Context(), TargetOf(ref("prod", "web")), RollbackOptions{})
	if refused := wantReason(t, err, Invalid); !strings.Contains(refused.Detail, "TOKEN") ||
		!strings.Contains(refused.Next, "--with-config") {
		t.Errorf("it says %q, next %q", refused.Detail, refused.Next)
	}
	if _, err := w.service.Rollback(t.Context(), TargetOf(ref("prod", "web")),
		RollbackOptions{WithConfig: true}); err != nil {
		t.Errorf("with config: %v", err)
	}
	unreadable := rollbackWorld(t, nil, "", nil)
	_, err = unreadable.service.Rollback(t.Context(), TargetOf(ref("prod", "web")), RollbackOptions{WithConfig: true})
	wantReason(t, err, Invalid)
}

// A value that is set later counts: the environment that a rollback brought back gives way to it.
func TestConfigEndsWhatARollbackBroughtBack(t *testing.T) {
	w := rollbackWorld(t, rotatedKeys, "hash", nil)
	if _, err := w.service.Rollback(t.Context(), TargetOf(ref("prod", "web")),
		RollbackOptions{WithConfig: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.SetConfig(t.Context(), Bucket{Scope: "prod", Name: "web"},
		ConfigChange{Set: map[string]string{"A": "1"}}); err != nil {
		t.Fatal(err)
	}
	stamps := w.object(ref("prod", "web")).Metadata.Stamps
	if stamps[api.StampRollbackConfig] != api.RollbackKeepsConfig || stamps[api.StampRollback] != "v1" {
		t.Errorf("the stamps are %v", stamps)
	}
}

// TestRollbackNamesWhatFailed: where every other release failed, the answer names one and the command that takes it.
func TestRollbackNamesWhatFailed(t *testing.T) {
	w := rollbackWorld(t, nil, "hash", nil)
	w.put(records.StatusKey(ref("prod", "web")), api.WorkloadStatus{
		Outcomes: map[string]api.ReleaseOutcome{"v1": {}, "v2": {}}})
	_, err := w.service.Rollback(t.Context(), TargetOf(ref("prod", "web")), RollbackOptions{})
	var refused *Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Detail, "v1 failed, and v2 is current") ||
		!strings.HasSuffix(refused.Next, "tend rollback prod/web v1") {
		t.Errorf("the answer is %+v", err)
	}
}
