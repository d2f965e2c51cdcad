package verbs

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/store/records"
)

// withKeys lets a service keep values, sealed by reversing them, and hash environments.
func withKeys(o *Options) {
	o.Seal = func(plain []byte) ([]byte, error) {
		sealed := slices.Clone(plain)
		slices.Reverse(sealed)
		return append([]byte("sealed:"), sealed...), nil
	}
	o.Open = func(sealed []byte) ([]byte, error) {
		plain, ok := bytes.CutPrefix(sealed, []byte("sealed:"))
		if !ok {
			return nil, errors.New("no key fits")
		}
		plain = slices.Clone(plain)
		slices.Reverse(plain)
		return plain, nil
	}
	open := o.Open
	o.EnvHash = func(snap records.Snapshot, object api.Object, change env.Change) (string, error) {
		spec, err := api.DecodeWorkload(object.Kind, object.Spec)
		if err != nil {
			return "", err
		}
		merged, err := env.Merge(object.Ref(), spec.Container,
			env.Buckets{Values: func(b env.Bucket) (map[string]string, error) {
				values := map[string]string{}
				for _, key := range ConfigKeys(snap, Bucket(b)) {
					record, _ := snap.Get(Bucket(b).prefix() + key)
					plain, err := open(record.Value.([]byte))
					if err != nil {
						return nil, err
					}
					values[key] = string(plain)
				}
				return change.Over(b, values), nil
			}})
		raw, _ := json.Marshal(merged)
		return string(raw), err
	}
}

func (w *world) set(bucket Bucket, pairs ...string) api.ConfigResult {
	w.t.Helper()
	return w.change(bucket, ConfigChange{Set: pairsOf(pairs)})
}

func (w *world) quietly(bucket Bucket, pairs ...string) api.ConfigResult {
	w.t.Helper()
	return w.change(bucket, ConfigChange{Set: pairsOf(pairs), Quiet: true})
}

func (w *world) change(bucket Bucket, change ConfigChange) api.ConfigResult {
	w.t.Helper()
	result, err := w.service.SetConfig(w.t.Context(), bucket, change)
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

func pairsOf(pairs []string) map[string]string {
	set := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		set[pairs[i]] = pairs[i+1]
	}
	return set
}

// released writes the release that a controller would make of an object's current environment.
func (w *world) released(ref api.Ref, number int) {
	w.t.Helper()
	hash := w.envHash(ref)
	release := api.Release{ID: "v" + string(rune('0'+number)), Number: number, Kind: ref.Kind, Scope: ref.Scope,
		Name: ref.Name, EnvHash: hash}
	w.put(records.ReleaseKey(ref, release.ID), release)
}

func (w *world) envHash(ref api.Ref) string {
	w.t.Helper()
	snap := w.snapshot()
	hash, err := w.service.opts.EnvHash(snap, *snap.Object(ref).Value, env.Change{})
	if err != nil {
		w.t.Fatal(err)
	}
	return hash
}

// quiet reports whether an object's current environment is in force quietly.
func (w *world) quiet(ref api.Ref) bool {
	return w.object(ref).Metadata.Stamps[api.StampQuietEnv] == w.envHash(ref)
}

var (
	ofScope = Bucket{Scope: "prod"}
	ofWeb   = Bucket{Scope: "prod", Name: "web"}
)

func TestConfigSortsKeys(t *testing.T) {
	w := newWorld(t, withKeys)
	w.set(ofWeb, "A", "1", "B", "1", "C", "1")
	got := w.change(ofWeb, ConfigChange{Set: map[string]string{"A": "1", "B": "2", "D": "1"}, Unset: []string{"C"}})
	if diff := cmp.Diff(api.ConfigResult{
		Scope: "prod", Name: "web", Keys: []string{"A", "B", "D"}, Revision: got.Revision,
		Created: []string{"D"}, Changed: []string{"B"}, Unchanged: []string{"A"}, Removed: []string{"C"},
		Notes: []string{"there is no prod/web yet; stored all the same; to take it back: tend config unset prod/web D"},
	}, got); diff != "" {
		t.Error(diff)
	}
	before := w.revision()
	if same := w.set(ofWeb, "A", "1", "B", "2"); same.Revision != 0 || w.revision() != before {
		t.Errorf("the same values were written again: %+v", same)
	}
	// A value that can't be decrypted any more is set again by the same value.
	w.put(ofWeb.prefix()+"A", []byte("of another key"))
	if repaired := w.set(ofWeb, "A", "1"); !slices.Equal(repaired.Changed, []string{"A"}) {
		t.Errorf("%+v", repaired)
	}
}

// TestConfigNamesWhoIsAffected: exactly those whose environment changes.
func TestConfigNamesWhoIsAffected(t *testing.T) {
	w := newWorld(t, withKeys)
	set := deployment("data", "db", `{"image":"a"}`)
	set.Kind = api.KindStatefulSet
	w.mustApply(deployment("prod", "web", `{"image":"a"}`),
		deployment("prod", "api", `{"image":"a","env":{"OWN":"1"}}`),
		deployment("test", "web", `{"image":"a","env_from":["prod/web"]}`), set)
	web, server, far := ref("prod", "web"), ref("prod", "api"), ref("test", "web")
	for name, tc := range map[string]struct {
		reason string
		bucket Bucket
		pairs  []string
		want   []api.Ref
	}{
		"app": {"itself, and who takes from it", ofWeb, []string{"A", "1"}, []api.Ref{web, far}},
		"scope": {"all of the scope, and who takes from one of it", ofScope, []string{"B", "1"},
			[]api.Ref{server, web, far}},
		"overridden": {"who sets it by itself sees no difference", ofScope, []string{"OWN", "2"}, []api.Ref{web, far}},
		"nobody":     {"a bucket for sharing", Bucket{Scope: "shared", Name: "db"}, []string{"A", "1"}, nil},
		"another kind, too": {"a statefulset", Bucket{Scope: "data"}, []string{"A", "1"},
			[]api.Ref{{Kind: api.KindStatefulSet, Scope: "data", Name: "db"}}},
	} {
		generation := w.object(web).Metadata.Generation
		got := w.set(tc.bucket, tc.pairs...)
		if diff := cmp.Diff(tc.want, got.Affected); diff != "" {
			t.Errorf("%s: %s:\n%s", name, tc.reason, diff)
		}
		for _, affected := range got.Affected {
			if w.object(affected).Metadata.Revision != got.Revision {
				t.Errorf("%s: %s wasn't written with the value", name, affected)
			}
		}
		if w.object(web).Metadata.Generation != generation {
			t.Errorf("%s: config changed the generation of the spec", name)
		}
	}
}

// TestQuietConfig: a workload that runs with the environment before is marked with the one after, and a loud change
// removes the mark.
func TestQuietConfig(t *testing.T) {
	w := newWorld(t, withKeys)
	w.mustApply(deployment("prod", "web", `{"image":"a"}`))
	web := ref("prod", "web")
	if w.quietly(ofWeb, "A", "1"); w.quiet(web) {
		t.Error("nothing runs yet, so nothing is to be left alone")
	}
	w.released(web, 1)
	w.quietly(ofWeb, "A", "2")
	w.quietly(ofScope, "B", "2")
	if !w.quiet(web) {
		t.Error("two quiet changes, one after the other")
	}
	w.set(ofWeb, "A", "3")
	if w.object(web).Metadata.Stamps[api.StampQuietEnv] != "" {
		t.Error("a loud change left the mark")
	}
	if w.quietly(ofWeb, "C", "1"); w.quiet(web) {
		t.Error("a loud change that isn't carried out yet was made quiet")
	}
	w.released(web, 2)
	w.quietly(ofWeb, "A", "4")
	if !w.quiet(web) {
		t.Error("after the next release quiet changes are quiet again")
	}
	if _, err := w.service.Restart(t.Context(), TargetOf(web), ""); err != nil ||
		w.object(web).Metadata.Stamps[api.StampQuietEnv] != "" {
		t.Errorf("a restart left the mark: %v", err)
	}
}

// A quiet change back to an environment that was marked before must not count as a loud one, nor the other way round.
func TestQuietAndLoudInTurns(t *testing.T) {
	w := newWorld(t, withKeys)
	w.mustApply(deployment("prod", "web", `{"image":"a"}`))
	web := ref("prod", "web")
	w.set(ofWeb, "A", "1")
	w.released(web, 1)
	w.quietly(ofWeb, "A", "2")
	w.set(ofWeb, "A", "3")
	w.released(web, 2)
	if w.set(ofWeb, "A", "2"); w.quiet(web) {
		t.Error("a loud change was taken for the quiet one that set the same before")
	}
	w.released(web, 3)
	w.quietly(ofWeb, "A", "1")
	if !w.quiet(web) {
		t.Error("a quiet change was not quiet")
	}
}

// TestQuietConfigMeetsARelease: a release made while a quiet change decides is noticed before the commit. Here the
// quiet change had seen a loud one that was not carried out yet, and would have been applied with it; after the release
// it can be quiet.
func TestQuietConfigMeetsARelease(t *testing.T) {
	w := newWorld(t, withKeys)
	w.mustApply(deployment("prod", "web", `{"image":"a"}`))
	web := ref("prod", "web")
	w.set(ofWeb, "A", "1")
	w.released(web, 1)
	another := New(w.service.opts) // another server, between decision and commit
	w.before = func() {
		if _, err := another.SetConfig(t.Context(), ofWeb, ConfigChange{Set: map[string]string{"A": "2"}}); err != nil {
			t.Error(err)
		}
	}
	w.quietly(ofScope, "B", "1")
	if w.quiet(web) {
		t.Error("the loud change in between was made quiet")
	}
	w.released(web, 2)
	w.before = func() {
		w.put(records.ReleaseKey(web, "v3"),
			api.Release{ID: "v3", Number: 3, Kind: web.Kind, Scope: "prod", Name: "web", EnvHash: "another"})
	}
	w.quietly(ofScope, "B", "2")
	if w.quiet(web) {
		t.Error("the newest release runs on another environment, and yet the change is quiet")
	}
}

func TestConfigValue(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, withKeys, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	odd := "hunter2\n=\"'" + strings.Repeat("x", 64<<10-11)
	w.set(ofWeb, "TOKEN", odd)
	w.set(ofScope, "SHARED", "hunter2")
	got, err := w.service.ConfigValue(t.Context(), ofWeb, "TOKEN", "ada")
	if err != nil || got != odd {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if text := log.String(); strings.Contains(text, "hunter2") ||
		!strings.Contains(text, `msg="config read" actor=ada scope=prod name=web key=TOKEN`) {
		t.Errorf("the log says %s", text)
	}
	for key, want := range map[string]string{"NONE": "there is no key NONE", "SHARED": "bucket of the scope",
		"": "there is no key"} {
		_, err := w.service.ConfigValue(t.Context(), ofWeb, key, "")
		if refused := wantReason(t, err, NotFound); !strings.Contains(refused.Detail, want) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestConfigRefuses: the value never appears in a refusal.
func TestConfigRefuses(t *testing.T) {
	w := newWorld(t, withKeys)
	before := w.revision()
	for name, tc := range map[string]struct {
		change ConfigChange
		reason Reason
		says   string
	}{
		"nothing":   {ConfigChange{}, Invalid, "nothing to set"},
		"a NUL":     {ConfigChange{Set: map[string]string{"TOKEN": "hunter2\x00more"}}, Invalid, "TOKEN"},
		"a key":     {ConfigChange{Set: map[string]string{"1-A": "hunter2"}}, Invalid, "1-A"},
		"too large": {ConfigChange{Set: map[string]string{"A": strings.Repeat("hunter2", 10_000)}}, TooLarge, "64 KiB"},
		"both": {ConfigChange{Set: map[string]string{"A": "hunter2"}, Unset: []string{"A"}}, Invalid,
			"A is to be set and removed"},
		"twice":     {ConfigChange{Unset: []string{"A", "A"}}, Invalid, "twice"},
		"not there": {ConfigChange{Set: map[string]string{"A": "1"}, Unset: []string{"B"}}, NotFound, "no key B"},
	} {
		_, err := w.service.SetConfig(t.Context(), ofScope, tc.change)
		refused := wantReason(t, err, tc.reason)
		if !strings.Contains(refused.Detail, tc.says) || strings.Contains(err.Error()+refused.Next, "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.revision() != before {
		t.Error("something was stored")
	}
	bare := newWorld(t, withKeys, func(o *Options) { o.EnvHash = nil })
	_, err := bare.service.SetConfig(t.Context(), ofScope, ConfigChange{Set: map[string]string{"A": "1"}, Quiet: true})
	wantReason(t, err, Invalid)
}
