package verbs

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestAManifestWithoutReplicasKeepsTheScale: only a manifest that names replicas sets them again.
func TestAManifestWithoutReplicasKeepsTheScale(t *testing.T) {
	web := ref("prod", "web")
	scale := func(n int) func(*world) {
		return func(w *world) {
			if _, err := w.service.Scale(w.t.Context(), TargetOf(web), n, FieldManager{}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	apply := func(spec string) func(*world) {
		return func(w *world) { w.mustApply(deployment("prod", "web", spec)) }
	}
	plain, changed, three := apply(`{"image":"web:1"}`), apply(`{"image":"web:2"}`),
		apply(`{"image":"web:1","replicas":3}`)
	global := apply(`{"image":"web:1","mode":"global"}`)
	scaleUp := func(w *world) {
		if err := w.scaleTo(5, cpu); err != nil {
			w.t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		steps []func(*world)
		want  int
	}{
		"the same again":                 {[]func(*world){plain, scale(2), plain, plain}, 2},
		"another change":                 {[]func(*world){plain, scale(2), changed}, 2},
		"to none":                        {[]func(*world){plain, scale(0), plain}, 0},
		"named":                          {[]func(*world){plain, scale(2), three}, 3},
		"named, then left out":           {[]func(*world){plain, scale(2), three, plain}, 1},
		"the line is taken out":          {[]func(*world){three, plain}, 1},
		"scaled, then taken out":         {[]func(*world){three, scale(2), plain}, 2},
		"scaled, then on each":           {[]func(*world){plain, scale(2), global}, 1},
		"scaled by itself, then on each": {[]func(*world){plain, apply(scaledSpec), scaleUp, global}, 1},
		"on each, then plain":            {[]func(*world){plain, scale(2), global, plain}, 1},
		"scaled to what it is":           {[]func(*world){three, scale(3), plain}, 1},
	} {
		w := newWorld(t)
		for _, step := range tc.steps {
			step(w)
		}
		spec, err := api.DecodeSpec[api.DeploymentSpec](*w.object(web))
		if err != nil || spec.ReplicaCount() != tc.want {
			t.Errorf("%s: %d replicas, want %d (%v)", name, spec.ReplicaCount(), tc.want, err)
		}
	}
}

// TestScaleSaysWhatTheManifestDeclares: a scale says which number the next apply sets again.
func TestScaleSaysWhatTheManifestDeclares(t *testing.T) {
	web := TargetOf(ref("prod", "web"))
	for name, tc := range map[string]struct {
		applied []string // specs, with a scale to 2 after each
		to      int
		says    string
	}{
		"another number": {[]string{`{"image":"web:1","replicas":3}`}, 5, "declares replicas 3"},
		"to none":        {[]string{`{"image":"web:1","replicas":3}`}, 0, "declares replicas 3"},
		"that number":    {[]string{`{"image":"web:1","replicas":3}`}, 3, ""},
		"no number":      {[]string{`{"image":"web:1"}`}, 5, ""},
		"the newest apply": {[]string{`{"image":"web:1","replicas":3}`, `{"image":"web:1","replicas":4}`}, 5,
			"declares replicas 4"},
		"a number no longer": {[]string{`{"image":"web:1","replicas":3}`, `{"image":"web:1"}`}, 5, ""},
		"a number as of lately": {[]string{`{"image":"web:1"}`, `{"image":"web:1","replicas":4}`}, 5,
			"declares replicas 4"},
	} {
		w := newWorld(t)
		scale := func(n int) string {
			got, err := w.service.Scale(t.Context(), web, n, FieldManager{})
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(got.Warnings, "\n")
		}
		for _, spec := range tc.applied {
			w.mustApply(deployment("prod", "web", spec))
			scale(2)
		}
		if said := scale(tc.to); !strings.Contains(said, tc.says) || tc.says == "" && said != "" {
			t.Errorf("%s: %q, want %q", name, said, tc.says)
		}
	}
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:1","replicas":3}`))
	got, err := w.service.Scale(t.Context(), web, 4, FieldManager{})
	if err != nil || !strings.Contains(strings.Join(got.Warnings, ""), "declares replicas 3") {
		t.Errorf("the first scale says %q, %v", got.Warnings, err)
	}
}

// TestAnApplyTellsThatNothingRuns: an apply that keeps a scale to 0 warns of it, also in a dry run, and no other does.
func TestAnApplyTellsThatNothingRuns(t *testing.T) {
	const plain, none = `{"image":"web:1"}`, `{"image":"web:1","replicas":0}`
	for name, tc := range map[string]struct {
		scale int // -1: none
		spec  string
		want  string
	}{
		"scaled to 0":     {0, plain, "tend scale prod/web 1"},
		"scaled to 2":     {2, plain, ""},
		"not scaled":      {-1, plain, ""},
		"declared so":     {-1, none, ""},
		"sets the number": {0, `{"image":"web:1","replicas":1}`, ""},
	} {
		w := newWorld(t)
		w.mustApply(deployment("prod", "web", plain))
		if tc.scale >= 0 {
			if _, err := w.service.Scale(t.Context(), TargetOf(ref("prod", "web")), tc.scale, FieldManager{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, dry := range []bool{true, false} {
			result, err := w.apply(ApplyOptions{DryRun: dry}, deployment("prod", "web", tc.spec))
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Join(result.Objects[0].Warnings, "\n")
			if !strings.Contains(said, tc.want) || tc.want == "" && said != "" {
				t.Errorf("%s, dry %t: %q, want %q", name, dry, said, tc.want)
			}
		}
	}
}

// TestScalingTwiceIsOneChange: neither a second scale nor the manifest applied again changes anything.
func TestScalingTwiceIsOneChange(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`))
	for i, changes := range []bool{true, false} {
		got, err := w.service.Scale(t.Context(), TargetOf(ref("prod", "web")), 2, FieldManager{})
		if err != nil || got.Changed != changes {
			t.Errorf("scale %d: %+v, %v", i, got, err)
		}
	}
	before := w.object(ref("prod", "web")).Metadata.Generation
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`))
	if after := w.object(ref("prod", "web")).Metadata.Generation; after != before {
		t.Errorf("generation %d became %d", before, after)
	}
}
