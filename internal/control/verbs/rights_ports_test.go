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
