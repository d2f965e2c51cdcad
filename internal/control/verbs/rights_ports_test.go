package verbs

import (
	"context"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// TestADeployerKeepsAPort: an object that had a port before it was Tend's own keeps it when a deployer changes
// something else. It gets no further one, by no verb; once it gave the port up, it doesn't get it back either. Which
// program gets a port that an admin gave, no deployer decides.
func TestADeployerKeepsAPort(t *testing.T) {
	const had, free, both = `"ports":["127.0.0.1:9443:80"]`, `"ports":["127.0.0.1:9000:80"]`,
		`"ports":["127.0.0.1:9443:80","127.0.0.1:9444:80"]`
	one, two := digest("one"), digest("two")
	apply := func(fields string) func(*world, context.Context) error {
		return func(w *world, ctx context.Context) error {
			object := deployment("prod", "web", `{"build":{},"env":{"A":"b"},`+fields+`}`)
			object.Metadata.Stamps = map[string]string{api.StampBuild: one}
			return applies(object)(w.service, ctx)
		}
	}
	rollback := func(fields string) func(*world, context.Context) error {
		return func(w *world, ctx context.Context) error {
			w.put(records.ReleaseKey(ref("prod", "web"), "v1"), api.Release{ID: "v1", Number: 1, Kind: api.KindDeployment,
				Scope: "prod", Name: "web", Spec: []byte(`{"image":"web:1",` + fields + `}`), SpecHash: "a"})
			_, err := w.service.Rollback(ctx, TargetOf(ref("prod", "web")), RollbackOptions{Release: "v1"})
			return err
		}
	}
	build := func(w *world, ctx context.Context) error {
		_, err := w.service.SetBuild(ctx, TargetOf(ref("prod", "web")), two, false, "carol")
		return err
	}
	for name, tc := range map[string]struct {
		stored  string
		call    func(*world, context.Context) error
		refused bool
		keeps   bool // the port that it has
	}{
		"apply, the same port":              {had, apply(had), false, true},
		"apply, the same at another place":  {had, apply(`"ports":["80","127.0.0.1:9443:80"]`), false, true},
		"apply, another program, no port":   {had, apply(free), false, false},
		"apply, a further one":              {had, apply(both), true, false},
		"apply, a new one":                  {free, apply(had), true, false},
		"apply, of another protocol before": {`"ports":["127.0.0.1:9443:80/udp"]`, apply(had), true, false},
		"rollback, the same port":           {had, rollback(had), false, true},
		"rollback, a further one":           {had, rollback(both), true, false},
		"rollback, a former one":            {free, rollback(had), true, false},
		"build":                             {had, build, false, true},
	} {
		for _, admin := range []bool{false, true} {
			w, s := newAssetWorld(t)
			s.files[one], s.files[two] = true, true
			object := deployment("prod", "web", `{"build":{},`+tc.stored+`}`)
			object.Metadata.Stamps = map[string]string{api.StampBuild: one}
			carol := WithRights(t.Context(), source.Rights{Person: "carol is deployer of prod", Scopes: []string{"prod"}})
			carol = WithSent(carol, func(string) bool { return true })
			if admin {
				w.mustApply(object)
			} else if err := applies(object)(w.service, carol); err != nil {
				t.Fatal(err)
			}
			w.put(records.ServerKey("s1"), api.ServerPresence{Ports: []int{9443, 9444}}) // an admin starts it with other flags
			err, refused := tc.call(w, carol), tc.refused || admin && tc.keeps
			if !refused && err != nil {
				t.Errorf("%s, of an admin %v: it is refused: %v", name, admin, err)
			}
			if refused {
				wantReason(t, err, Forbidden)
			}
		}
	}
}

// TestAPortThatWasGivenIsTheGiversAlone: what is confined keeps a port that it had before it was Tend's. Where one who
// may give them gave it such a port, no other decides which program gets it: neither a deployer, nor a source that
// names the port too, nor by a pod of before.
func TestAPortThatWasGivenIsTheGiversAlone(t *testing.T) {
	const port = `{"image":"a","ports":["127.0.0.1:8686:80"]}`
	plain, given := deployment("bank", "port", `{"image":"a"}`), deployment("bank", "port", port)
	release := func(w *world) {
		w.put(records.ReleaseKey(given.Ref(), "v1"), api.Release{ID: "v1", Number: 1, Kind: given.Kind, Scope: given.Scope,
			Name: given.Name, Spec: []byte(port), SpecHash: "a", Confined: true})
	}
	ana := WithRights(t.Context(), source.Rights{Person: "ana is deployer of bank", Scopes: []string{"bank"}})
	apply := func(w *world, opts ApplyOptions, object api.Object) {
		t.Helper()
		if _, err := w.apply(opts, object); err != nil {
			t.Fatal(err)
		}
	}
	for name, give := range map[string]func(*world){
		"an admin, to an object of a sync": func(w *world) {
			apply(w, w.asSync(plainSync), plain)
			w.mustApply(deployment("bank", "port", `{"ports":["127.0.0.1:8686:80"]}`))
		},
		"a sync, while it was trusted": func(w *world) {
			apply(w, w.asSync(trustedSync), given)
			apply(w, w.asSync(plainSync), given)
		},
		"an admin, by a rollback": func(w *world) {
			apply(w, w.asSync(plainSync), plain)
			release(w)
			if _, err := w.service.Rollback(t.Context(), TargetOf(given.Ref()), RollbackOptions{Release: "v1"}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withKeys)
			give(w)
			if !w.object(given.Ref()).Confined() {
				t.Fatal("it isn't confined")
			}
			other := deployment("bank", "port", `{"image":"b","ports":["127.0.0.1:8686:80"]}`)
			changes := func(ctx context.Context) error {
				_, err := w.service.Apply(ctx, []api.Object{other},
					ApplyOptions{FieldManager: FieldManager{ForceConflicts: true}})
				return err
			}
			wantReason(t, changes(ana), Forbidden)
			wantReason(t, setConfig(Bucket{"bank", "port"}, ConfigChange{Set: map[string]string{"A": "b"}})(w.service, ana), Forbidden)
			if _, err := w.apply(w.asSync(plainSync), other); err == nil {
				t.Error("the sync decides its program")
			}
			release(w)
			read, err := w.service.opts.Reader.Fresh(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			object := *w.object(given.Ref())
			pod := api.Task{ID: "1", Kind: given.Kind, Scope: given.Scope, Name: given.Name, OwnerUID: object.Metadata.UID,
				Release: "v1", Node: "n1"}
			object.Spec = plain.Spec
			if w.service.RefuseInside(RightsOf(ana), read, object, []records.Read[api.Task]{{Value: &pod}}) == nil {
				t.Error("a command in a pod of before is allowed")
			}
			if err := changes(t.Context()); err != nil {
				t.Errorf("an admin is refused: %v", err)
			}
		})
	}
}
