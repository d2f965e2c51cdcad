package verbs

import (
	"context"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// TestNoNodeIsAskedForARefusedApply: neither for an image nor for the writers of a volume, whatever of the apply is
// refused, also in a dry run.
func TestNoNodeIsAskedForARefusedApply(t *testing.T) {
	admin := source.Rights{Trusted: true}
	deployer := source.Rights{Person: "carol is deployer of prod", Scopes: []string{"prod"}}
	web, folder := deployment("prod", "web", `{"image":"web:1"}`), deployment("prod", "root", `{"image":"/root"}`)
	mounts := deployment("prod", "web", `{"image":"a:1","volumes":["/etc:/etc"]}`)
	shop, shopFolder := deployment("shop", "web", `{"image":"web:1"}`), deployment("shop", "web", `{"image":"/root"}`)
	for name, c := range map[string]struct {
		rights  source.Rights
		sync    string
		before  *api.Object
		objects []api.Object
		asks    bool
	}{
		"what a deployer may":                                {deployer, "", nil, []api.Object{web}, true},
		"a folder as image":                                  {deployer, "", nil, []api.Object{folder}, false},
		"beside what a deployer may":                         {deployer, "", nil, []api.Object{web, folder}, false},
		"another program with a folder that an admin mounts": {deployer, "", &mounts, []api.Object{web}, false},
		"what a sync may":                                    {admin, plainSync, nil, []api.Object{shop}, true},
		"a folder as a sync's image":                         {admin, plainSync, nil, []api.Object{shopFolder}, false},
		"what a sync did not create":                         {admin, plainSync, &shop, []api.Object{shop}, false},
		"a folder as an admin's image":                       {admin, "", nil, []api.Object{folder}, true},
	} {
		for _, dry := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				f, volumes := &finder{node: "n1"}, 0
				w := newWorld(t, func(o *Options) {
					o.FindImage = f.find
					o.Occupied = func(context.Context, api.DeploymentSpec) (Occupied,
						bool) {
						volumes++
						return Occupied{}, false
					}
				})
				w.put(records.NodeKey("n1"), api.NodeStatus{ID: "n1", Ready: true, Runtime: "docker"})
				w.put(records.AliveKey("n1"), "n1")
				if c.before != nil {
					if _, err := w.apply(ApplyOptions{FieldManager: FieldManager{Manager: "ops"}},
						*c.before); err != nil {
						t.Fatal(err)
					}
				}
				opts, ctx := ApplyOptions{}, WithRights(t.Context(), c.rights)
				if c.sync != "" {
					opts = w.asSync(c.sync)
				}
				opts.DryRun, opts.ForceConflicts = dry, true
				f.asked, volumes, f.member = nil, 0, w.snapshot().Member("n1").Modified
				_, err := w.service.Apply(ctx, c.objects, opts)
				if (err == nil) != c.asks {
					t.Fatalf("dry: %v: %v", dry, err)
				}
				if asked := len(f.asked) > 0; asked != c.asks || (volumes > 0) != c.asks {
					t.Errorf("dry: %v: asked for %q, and %d times for writers; err is %v", dry, f.asked, volumes, err)
				}
			})
		}
	}
}
