package verbs

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

func (w *world) release(number int, image, hash string) {
	id := fmt.Sprintf("v%d", number)
	w.put(records.ReleaseKey(ref("prod", "web"), id), api.Release{ID: id, Number: number, Kind: api.KindDeployment,
		Scope: "prod", Name: "web", Spec: json.RawMessage(`{"image":"` + image + `"}`), SpecHash: hash, Image: image,
		ImageID: image})
}

// TestRollbackToWhatLooksLikeAReference: a release holds texts as containers have them, so they are restored unchanged.
func TestRollbackToWhatLooksLikeAReference(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:2","replicas":3}`))
	spec := `{"command":["run","$${ref.a}"],"env":{"LIVE":"api.prod:80","RAW":"${ref.deployment.gone.host}"},"image":"web:1","working_dir":"/x"}`
	w.put(records.ReleaseKey(ref("prod", "web"), "v1"), api.Release{ID: "v1", Number: 1, Kind: api.KindDeployment,
		Scope: "prod", Name: "web", Spec: json.RawMessage(spec), SpecHash: "a"})
	w.release(2, "web:2", "b")
	if _, err := w.service.Rollback(t.Context(), Target{Name: "web"}, RollbackOptions{Release: "v1"}); err != nil {
		t.Fatal(err)
	}
	want := `{"command":["run","$$${ref.a}"],"env":{"LIVE":"api.prod:80","RAW":"$${ref.deployment.gone.host}"},"image":"web:1","replicas":3,"working_dir":"/x"}`
	if got := string(w.object(ref("prod", "web")).Spec); got != want {
		t.Errorf("the spec is\n%s, want\n%s", got, want)
	}
}

func TestRollbackTarget(t *testing.T) {
	type release struct{ image, hash string }
	three := []release{{"web:1", "a"}, {"web:2", "b"}, {"web:3", "c"}}
	cases := map[string]struct {
		reason   string
		releases []release
		rollout  *api.RolloutStatus
		outcomes map[string]api.ReleaseOutcome
		wanted   string
		want     string
	}{
		"before the current": {"without a status, the one before", three, nil, nil, "", "v2"},
		"named":              {"a name is taken by its word", three, nil, nil, "v1", "v1"},
		"last good": {"v2 never was good", three,
			&api.RolloutStatus{TargetRelease: "v3", LastGoodRelease: "v1"}, nil, "", "v1"},
		"current is good": {"the current release is not a way back", three,
			&api.RolloutStatus{TargetRelease: "v3", LastGoodRelease: "v3"}, nil, "", "v2"},
		"after an automatic one": {"v2 is current already", three,
			&api.RolloutStatus{TargetRelease: "v2", LastGoodRelease: "v2", Failed: &api.FailedRollout{Release: "v3"}},
			map[string]api.ReleaseOutcome{"v1": {Good: true}, "v2": {Good: true}, "v3": {Reason: "CrashLoop"}}, "",
			"v1"},
		"and nothing before it": {"v1 is current already, v2 was never good", three,
			&api.RolloutStatus{TargetRelease: "v1", LastGoodRelease: "v1", Failed: &api.FailedRollout{Release: "v3"}},
			nil, "", ""},
		"good earlier": {"v2 failed, v1 was good", three,
			&api.RolloutStatus{TargetRelease: "v3", LastGoodRelease: "v3"},
			map[string]api.ReleaseOutcome{"v1": {Good: true}, "v2": {Reason: "CrashLoop"}, "v3": {Good: true}}, "",
			"v1"},
		"failed before": {"what failed is skipped", three,
			&api.RolloutStatus{LastGoodRelease: "v3", Failed: &api.FailedRollout{Release: "v2"}}, nil, "", "v1"},
		"same snapshot": {"a release that would run the same is skipped",
			[]release{{"web:1", "a"}, {"web:2", "b"}, {"web:2", "b"}}, nil, nil, "", "v1"},
		"only one": {"nothing to return to", three[:1], nil, nil, "", ""},
		"none":     {"nothing was rolled out yet", nil, nil, nil, "", ""},
		"unknown":  {"a name that isn't kept", three, nil, nil, "v7", ""},
		"last good is not kept": {"the last good one was collected", three,
			&api.RolloutStatus{LastGoodRelease: "v0"}, nil, "", "v2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(deployment("prod", "web", `{"image":"web:3","replicas":4}`))
			for i, r := range tc.releases {
				w.release(i+1, r.image, r.hash)
			}
			if tc.rollout != nil {
				w.put(records.StatusKey(ref("prod", "web")),
					api.WorkloadStatus{Rollout: tc.rollout, Outcomes: tc.outcomes})
			}
			got, err := w.service.Rollback(t.Context(), Target{Name: "web"}, RollbackOptions{Release: tc.wanted})
			if tc.want == "" {
				wantReason(t, err, NotFound)
				return
			}
			if err != nil || got.Release != tc.want || !got.Changed || got.Generation != 2 {
				t.Fatalf("%s: %+v, %v; want %s at generation 2", tc.reason, got, err, tc.want)
			}
			spec, _ := api.DecodeSpec[api.DeploymentSpec](*w.object(ref("prod", "web")))
			if spec.ReplicaCount() != 4 {
				t.Errorf("%s: replicas became %d", tc.reason, spec.ReplicaCount())
			}
			again, err := w.service.Rollback(t.Context(), Target{Name: "web"}, RollbackOptions{Release: tc.want})
			if err != nil || again.Changed || again.Generation != 2 {
				t.Errorf("%s: the same again changed something: %+v, %v", tc.reason, again, err)
			}
		})
	}
}

func TestFreezeNeedsALiveSlot(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`))
	task := api.Task{ID: "t1", Kind: api.KindDeployment, Scope: "prod", Name: "web", Slot: "aaaaaaaa",
		Desired: api.DesiredRunning}
	w.put(records.TaskKey("t1"), task)
	// The task is replaced between the decision and the commit: the mark must not stay on a slot that no longer exists.
	w.before = func() {
		task.Desired = api.DesiredShutdown
		w.put(records.TaskKey("t1"), task)
	}
	_, err := w.service.Freeze(t.Context(), Target{Name: "web"}, []string{"aaaaaaaa"}, "me")
	wantReason(t, err, NotFound)
	if marks := w.snapshot().Frozen(ref("prod", "web")); len(marks) != 0 {
		t.Errorf("a mark was left: %v", marks)
	}
}

func TestTargets(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{}`), deployment("staging", "web", `{}`), deployment("prod", "db", `{}`))
	for _, other := range []api.Ref{
		{Kind: api.KindAsset, Scope: "prod", Name: "db"}, {Kind: api.KindIngress, Scope: "prod", Name: "web"},
		{Kind: api.KindIngress, Scope: "prod", Name: "alone"},
		{Kind: api.KindJob, Scope: "staging", Name: "web"},
	} {
		w.put(records.ObjectKey(other), api.Object{Kind: other.Kind, Scope: other.Scope, Name: other.Name})
	}
	cases := map[string]struct {
		target Target
		want   string
		refuse Reason
	}{
		"full":    {target: TargetOf(ref("prod", "web")), want: "deployment/prod/web"},
		"no kind": {target: Target{Scope: "prod", Name: "web"}, want: "deployment/prod/web"},
		"an app": {target: Target{Kind: api.KindApp, Scope: "prod", Name: "web"},
			want: "deployment/prod/web"},
		"no pods": {target: Target{Scope: "prod", Name: "alone"}, want: "ingress/prod/alone"},
		"an ingress": {target: Target{Kind: api.KindIngress, Scope: "prod", Name: "web"},
			want: "ingress/prod/web"},
		"two workloads":    {target: Target{Scope: "staging", Name: "web"}, refuse: Ambiguous},
		"no scope":         {target: Target{Kind: api.KindDeployment, Name: "db"}, want: "deployment/prod/db"},
		"two scopes":       {target: Target{Name: "web"}, refuse: Ambiguous},
		"two kinds":        {target: Target{Scope: "prod", Name: "db"}, want: "deployment/prod/db"},
		"nothing":          {target: Target{Scope: "prod"}, refuse: Invalid},
		"none":             {target: Target{Name: "x"}, refuse: NotFound},
		"none of the kind": {target: Target{Kind: api.KindJob, Scope: "prod", Name: "web"}, refuse: NotFound},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.target.Resolve(w.snapshot())
			if tc.refuse != "" {
				wantReason(t, err, tc.refuse)
				return
			}
			if err != nil || got.String() != tc.want {
				t.Errorf("%s, %v; want %s", got, err, tc.want)
			}
		})
	}
}

// TestDeletePrefersNothing: for an irreversible action, a name that two objects have is ambiguous.
func TestDeletePrefersNothing(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{}`))
	w.put(records.ObjectKey(api.Ref{Kind: api.KindIngress, Scope: "prod", Name: "web"}),
		api.Object{Kind: api.KindIngress, Scope: "prod", Name: "web"})
	_, err := w.service.Delete(t.Context(), Target{Scope: "prod", Name: "web"}, "me")
	wantReason(t, err, Ambiguous)
}

func TestRestartCounts(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{}`))
	var nonces []string
	for range 3 {
		result, err := w.service.Restart(t.Context(), Target{Name: "web"}, "")
		if err != nil {
			t.Fatal(err)
		}
		nonces = append(nonces, result.Restart)
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, nonces); diff != "" {
		t.Errorf("a nonce was used twice: %s", diff)
	}
	if got := w.object(ref("prod", "web")).Metadata.Generation; got != 1 {
		t.Errorf("generation %d: a restart changed the spec", got)
	}
}

func TestVerbsOnADeletedObject(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{}`))
	if _, err := w.service.Delete(t.Context(), Target{Name: "web"}, ""); err != nil {
		t.Fatal(err)
	}
	target := Target{Name: "web"}
	_, scale := w.service.Scale(t.Context(), target, 3, FieldManager{})
	_, restart := w.service.Restart(t.Context(), target, "")
	_, rollback := w.service.Rollback(t.Context(), target, RollbackOptions{})
	_, freeze := w.service.Freeze(t.Context(), target, nil, "")
	_, thaw := w.service.Thaw(t.Context(), target, nil, "")
	for verb, err := range map[string]error{"scale": scale, "restart": restart, "rollback": rollback,
		"freeze": freeze, "thaw": thaw} {
		t.Run(verb, func(t *testing.T) { wantReason(t, err, Terminating) })
	}
}

// TestUnknownOutcome: a commit whose outcome is unknown is reported as unknown, and never retried blindly.
func TestUnknownOutcome(t *testing.T) {
	w := newWorld(t)
	cut := errors.New("connection cut")
	tries := 0
	w.service.opts.Store = always(func() error { tries++; return cut })
	_, err := w.apply(ApplyOptions{}, deployment("prod", "web", `{}`))
	if !errors.Is(err, cut) || tries != 1 {
		t.Errorf("%v after %d tries, want the error itself after 1", err, tries)
	}
	w.service.opts.Store = always(func() error { return store.ErrNoSpace })
	if _, err := w.apply(ApplyOptions{}, deployment("prod", "web", `{}`)); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("%v, want ErrNoSpace", err)
	}
}
