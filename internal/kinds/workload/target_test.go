package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/spechash"
	"tend.dev/tend/internal/store/records"
)

// What makes a new release, and what doesn't.
func TestMint(t *testing.T) {
	tests := map[string]struct {
		reason  string
		change  func(*harness)
		release string
		why     string
	}{
		"nothing": {reason: "the same spec again is the same release",
			change: func(l *harness) { l.apply(replicas(2, "web:1")) }, release: "v1"},
		"replicas": {reason: "scaling is not a release", change: func(l *harness) { l.apply(replicas(4, "web:1")) },
			release: "v1"},
		"retention": {reason: "a field outside the hash reaches no container", change: func(l *harness) {
			spec, keep := replicas(2, "web:1"), 9
			spec.KeepReleases = &keep
			l.apply(spec)
		}, release: "v1"},
		"hash": {reason: "a field of the hash does", change: func(l *harness) {
			spec := replicas(2, "web:1")
			spec.Command = []string{"serve"}
			l.apply(spec)
		}, release: "v2", why: "spec changed"},
		"probes off": {reason: "an empty block switches the image's check off, though the hash takes it for none",
			change: func(l *harness) {
				spec := replicas(2, "web:1")
				spec.Probes = &api.Probes{}
				l.apply(spec)
			}, release: "v2", why: "spec changed"},
		"spec env": {reason: "env is in the hash", change: func(l *harness) {
			spec := replicas(2, "web:1")
			spec.Env = map[string]string{"A": "1"}
			l.apply(spec)
		}, release: "v2", why: "spec changed"},
		"bucket": {reason: "a bucket reaches the container",
			change: func(l *harness) { l.config("apps/prod/web/A", "1") }, release: "v2", why: "environment changed"},
		"scope bucket": {reason: "so does the scope's", change: func(l *harness) { l.config("scopes/prod/A", "1") },
			release: "v2", why: "environment changed"},
		"other bucket": {reason: "another app's doesn't", change: func(l *harness) { l.config("apps/prod/api/A", "1") },
			release: "v1"},
		"image": {reason: "the tag moved", change: func(l *harness) { l.images["web:1"] = "sha256:moved" },
			release: "v2", why: "web:1 names another image now"},
		"restart": {reason: "a restart replaces slots under the same release",
			change: func(l *harness) { l.stamp(api.StampRestart, "1") }, release: "v1"},
		"another image reference": {reason: "the image is in the hash", change: func(l *harness) {
			l.apply(replicas(2, "web:2"))
		}, release: "v2", why: "spec changed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.apply(replicas(2, "web:1"))
			l.settle()
			test.change(l)
			l.settle()
			got := l.snapshot().Release(web, l.status().Release).Value
			if got == nil || got.ID != test.release {
				t.Fatalf("%s: %s is in force, want %s", test.reason, l.status().Release, test.release)
			}
			if test.why != "" && got.Reason != test.why {
				t.Errorf("%s: it says %q, want %q", test.reason, got.Reason, test.why)
			}
		})
	}
}

// config sets a bucket's value, as the API does.
func (l *harness) config(key, value string) {
	l.Helper()
	l.write(func(txn *records.Txn) { txn.Put(records.ConfigPrefix+key, []byte("sealed:"+value)) })
}

// The hash of an older Tend is computed in its own form: an upgrade rolls nothing, and a real change is still detected.
func TestUpgradeOfTheHashRollsNothing(t *testing.T) {
	spec := replicas(1, "web:1")
	older, err := spechash.WorkloadVersion(1, workloadOf(spec), nil)
	if err != nil {
		t.Fatal(err)
	}
	release := &api.Release{ID: "v1", SpecHash: older, HashVersion: 1, EnvHash: "e", ImageID: "i"}
	newer := identity{hash: "the same spec in form 2", version: 2, envHash: "e", imageID: "i"}
	changed := spec
	changed.Command = []string{"serve"}
	for name, test := range map[string]struct {
		reason  string
		o       observed
		release *api.Release
		id      identity
		same    bool
	}{
		"upgrade": {"the stored version is computed again", observed{spec: workloadOf(spec)}, release, newer, true},
		"change":  {"and differs where the spec does", observed{spec: workloadOf(changed)}, release, newer, false},
		"env": {"an environment has no version", observed{spec: workloadOf(spec)}, release,
			identity{hash: newer.hash, version: 2, envHash: "f", imageID: "i"}, false},
		"image": {"nor has an image", observed{spec: workloadOf(spec)}, release,
			identity{hash: newer.hash, version: 2, envHash: "e", imageID: "j"}, false},
		"no image": {"what isn't known can't differ", observed{spec: workloadOf(spec)}, release,
			identity{hash: newer.hash, version: 2, envHash: "e"}, true},
		"unknown": {"a newer Tend's hash can't be compared", observed{spec: workloadOf(spec)},
			&api.Release{SpecHash: older, HashVersion: 9, EnvHash: "e", ImageID: "i"}, newer, false},
		"no such": {"nothing is like no release", observed{spec: workloadOf(spec)}, nil, newer, false},
		"pinned": {"what is pinned is its release's own hash", observed{spec: workloadOf(spec)}, release,
			identity{hash: older, version: 1, envHash: "e", imageID: "i", pinned: release}, true},
		"pinned up": {"a pin of another form is another release", observed{spec: workloadOf(spec)}, release,
			identity{hash: "x", version: 2, envHash: "e", imageID: "i", pinned: release}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.o.same(test.release, test.id); got != test.same {
				t.Errorf("%s: same is %v", test.reason, got)
			}
		})
	}
}

// Which release is wanted if several are the same, or if none can be determined.
func TestChoose(t *testing.T) {
	release := func(id string, number int, hash string) records.Read[api.Release] {
		return records.Read[api.Release]{Value: &api.Release{ID: id, Number: number, SpecHash: hash,
			HashVersion: spechash.Version, EnvHash: "e", ImageID: "i"}}
	}
	releases := []records.Read[api.Release]{release("v1", 1, "a"), release("v2", 2, "b"), release("v3", 3, "a")}
	older := api.FailedRollout{Release: "v2", Generation: 3, EnvHash: "e", ImageID: "i"}
	failed := api.FailedRollout{Release: "v2", Generation: 4, EnvHash: "e", ImageID: "i"}
	want := func(hash, image string) identity {
		return identity{hash: hash, version: spechash.Version, envHash: "e", imageID: image}
	}
	type result struct {
		Release      string
		Mint, Awaits bool
		Turned       bool
	}
	for name, test := range map[string]struct {
		reason string
		id     identity
		was    api.RolloutStatus
		stamps map[string]string
		want   result
	}{
		"in force": {"the one in force comes before the newest", want("a", "i"),
			api.RolloutStatus{TargetRelease: "v1"}, nil, result{Release: "v1"}},
		"newest": {"the newest is used again", want("a", "i"), api.RolloutStatus{TargetRelease: "v2"}, nil,
			result{Release: "v3"}},
		"older": {"an older one isn't: history goes on", want("b", "i"),
			api.RolloutStatus{TargetRelease: "v3"}, nil, result{Release: "v4", Mint: true}},
		"no status": {"a lost status finds the newest", want("a", "i"), api.RolloutStatus{}, nil,
			result{Release: "v3"}},
		"image unknown": {"what is in force stays", want("c", ""), api.RolloutStatus{TargetRelease: "v1"}, nil,
			result{Release: "v1", Awaits: true}},
		"forced": {"a forced apply waits for its answer", want("a", ""),
			api.RolloutStatus{TargetRelease: "v3"}, map[string]string{api.StampPull: "n"},
			result{Release: "v3", Awaits: true}},
		"not forced": {"an unknown image can't differ", want("a", ""), api.RolloutStatus{TargetRelease: "v3"},
			nil, result{Release: "v3"}},
		"turned away": {"the failed one isn't tried again", want("b", "i"),
			api.RolloutStatus{TargetRelease: "v1", LastGoodRelease: "v1", Failed: &failed}, nil,
			result{Release: "v1", Turned: true}},
		"turned, unknown": {"nor while its image isn't known", want("b", ""),
			api.RolloutStatus{TargetRelease: "v1", LastGoodRelease: "v1", Failed: &failed}, nil,
			result{Release: "v1", Turned: true}},
		"turned, moved": {"another image is another try", want("b", "j"),
			api.RolloutStatus{TargetRelease: "v1", LastGoodRelease: "v1", Failed: &failed}, nil,
			result{Release: "v4", Mint: true}},
		"turned, applied": {"so is another manifest", want("b", "i"),
			api.RolloutStatus{TargetRelease: "v1", LastGoodRelease: "v1", Failed: &older}, nil,
			result{Release: "v4", Mint: true}},
		"turned, restart": {"so is a restart", want("b", "i"),
			api.RolloutStatus{TargetRelease: "v2", LastGoodRelease: "v1", Failed: &failed},
			map[string]string{api.StampRestart: "1"}, result{Release: "v2"}},
		"turned, good gone": {"there is nothing to stay on", want("b", "i"),
			api.RolloutStatus{TargetRelease: "v2", LastGoodRelease: "v0", Failed: &failed}, nil, result{Release: "v2"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			object := api.Object{Metadata: api.Metadata{Generation: 4, Stamps: test.stamps}}
			o := observed{
				leaving: leavingWriters(records.Snapshot{}, nil),
				ref:     web, object: records.Read[api.Object]{Value: &object}, releases: releases,
				spec:   workloadOf(replicas(1, "web:1")),
				status: records.Read[api.WorkloadStatus]{Value: &api.WorkloadStatus{Rollout: &test.was}},
			}
			got, err := l.c.choose(o, test.id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, result{got.release.ID, got.mint, got.awaits,
				got.turned != nil}); diff != "" {
				t.Errorf("%s:\n%s", test.reason, diff)
			}
		})
	}
}

// A number is never used twice, even if the release that had it was deleted.
func TestReleaseNumbersOnlyGrow(t *testing.T) {
	l := newHarness(t)
	spec, keep := replicas(1, "web:1"), 1
	spec.KeepReleases = &keep
	for i, command := range []string{"a", "b", "a", "b"} {
		spec.Command = []string{command}
		l.apply(spec)
		l.settle()
		if got, want := l.status().LastReleaseNumber, i+1; got != want {
			t.Fatalf("after %d releases the highest number is %d", want, got)
		}
	}
	if kept := l.snapshot().Releases(web); len(kept) != 1 || kept[0].Value.ID != "v4" {
		t.Errorf("kept: %v", kept)
	}
}
