package verbs

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestObjectsOnOneVolume: an apply warns of every object that writes to a volume beside another one, stored or of the
// same apply; not of what only reads, has no replicas, is being deleted or is pruned by it.
func TestObjectsOnOneVolume(t *testing.T) {
	writer := func(name, more string) api.Object {
		return deployment("vv", name, `{"image":"a","volumes":["shared:/data"]`+more+`}`)
	}
	const both = "volumes: deployment/vv/a and deployment/vv/b write to the volume shared at once, which breaks a database"
	for name, tc := range map[string]struct {
		reason string
		stored []api.Object
		opts   ApplyOptions
		object []api.Object
		want   string
	}{
		"one apply": {"both are named", nil, ApplyOptions{}, []api.Object{writer("a", ""), writer("b", "")}, both},
		"stored": {"the other one runs",
			[]api.Object{writer("a", "")}, ApplyOptions{}, []api.Object{writer("b", "")}, both},
		"a dry run": {"before it is done",
			[]api.Object{writer("a", "")}, ApplyOptions{DryRun: true}, []api.Object{writer("b", "")}, both},
		"renamed": {"without a prune both run",
			[]api.Object{writer("a", "")}, ApplyOptions{Set: "f"}, []api.Object{writer("b", "")}, both},
		"pruned": {"the old one goes",
			[]api.Object{writer("a", "")}, ApplyOptions{Set: "f", Prune: true}, []api.Object{writer("b", "")}, ""},
		"a reader": {"it breaks nothing", []api.Object{writer("a", "")}, ApplyOptions{},
			[]api.Object{deployment("vv", "b", `{"image":"a","volumes":["shared:/data:ro"]}`)}, ""},
		"parked": {"it has no pods",
			[]api.Object{writer("a", `,"replicas":0`)}, ApplyOptions{}, []api.Object{writer("b", "")}, ""},
		"declared": {"a label permits it",
			[]api.Object{writer("a", `,"labels":{"dev.tend.shared-volumes":"shared"}`)}, ApplyOptions{},
			[]api.Object{writer("b", "")}, ""},
		"its change": {"itself is not another one",
			[]api.Object{writer("b", "")}, ApplyOptions{}, []api.Object{writer("b", `,"env":{"A":"1"}`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, object := range tc.stored {
				if _, err := w.apply(ApplyOptions{Set: tc.opts.Set}, object); err != nil {
					t.Fatal(err)
				}
			}
			result, err := w.apply(tc.opts, tc.object...)
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range result.Objects {
				got := strings.Join(object.Warnings, "\n")
				if (got == "") != (tc.want == "") || !strings.HasPrefix(got, tc.want) {
					t.Errorf("%s: %s: %q, want %q", tc.reason, object.Ref, got, tc.want)
				}
			}
		})
	}
}

// TestADeletedWriterDoesNotCount: the new one waits for its end.
func TestADeletedWriterDoesNotCount(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("vv", "a", `{"image":"a","volumes":["shared:/data"]}`))
	old := Target{Kind: api.KindDeployment, Scope: "vv", Name: "a"}
	if _, err := w.service.Delete(t.Context(), old, "test"); err != nil {
		t.Fatal(err)
	}
	applied := w.mustApply(deployment("vv", "b", `{"image":"a","volumes":["shared:/data"]}`))
	if got := applied.Objects[0].Warnings; len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// TestARenamedVolumeBeginsEmpty: an apply that mounts another volume where the data was warns, once.
func TestARenamedVolumeBeginsEmpty(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("ren", "x", `{"image":"a","volumes":["rendata:/data"]}`))
	renamed := deployment("ren", "x", `{"image":"a","volumes":["otherdata:/data"]}`)
	for _, opts := range []ApplyOptions{{DryRun: true}, {}} {
		result, err := w.apply(opts, renamed)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(result.Objects[0].Warnings, "\n")
		if !strings.HasPrefix(got, "volumes: /data is the volume otherdata now, which begins empty") ||
			!strings.Contains(got, "the data stays in the volume rendata") {
			t.Errorf("%+v: %q", opts, got)
		}
	}
	if got := w.mustApply(renamed).Objects[0].Warnings; len(got) > 0 {
		t.Errorf("applied again: %q", got)
	}
}

// TestARenamedStatefulSetBeginsEmpty: its volumes are named after it. One that has other claims, or another set, is not
// the old one.
func TestARenamedStatefulSetBeginsEmpty(t *testing.T) {
	set := func(scope, name, claim string) api.Object {
		object := deployment(scope, name, `{"image":"a","volume_claims":[{"name":"`+claim+`","mount_path":"/data"}]}`)
		object.Kind = api.KindStatefulSet
		return object
	}
	for name, tc := range map[string]struct {
		reason string
		opts   ApplyOptions
		next   api.Object
		warned bool
	}{
		"pruned":       {"the old one goes", ApplyOptions{Set: "f", Prune: true}, set("ren", "new", "d"), true},
		"left":         {"the old one stays", ApplyOptions{Set: "f"}, set("ren", "new", "d"), true},
		"dry run":      {"before it is done", ApplyOptions{Set: "f", Prune: true, DryRun: true}, set("ren", "new", "d"), true},
		"other claims": {"it is another program", ApplyOptions{Set: "f", Prune: true}, set("ren", "new", "e"), false},
		"other scope":  {"it is another project", ApplyOptions{Set: "f", Prune: true}, set("rest", "new", "d"), false},
		"other set":    {"it does not replace it", ApplyOptions{Set: "g", Prune: true}, set("ren", "new", "d"), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if _, err := w.apply(ApplyOptions{Set: "f"}, set("ren", "old", "d")); err != nil {
				t.Fatal(err)
			}
			result, err := w.apply(tc.opts, tc.next)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(result.Objects[0].Warnings, "\n")
			if strings.Contains(got, "the data stays in the claim d (volume tend-ren-old-d-0)") != tc.warned ||
				!tc.warned && got != "" {
				t.Errorf("%s: %q", tc.reason, got)
			}
		})
	}
}
