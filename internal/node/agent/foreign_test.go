package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// builtFor builds an image on the node for an object, and returns its id.
func (l *harness) builtFor(owner api.Ref, tree string) string {
	l.t.Helper()
	build := api.NewImageBuild("sha256:"+tree, api.Build{})
	made, err := l.engine.Client(cluster, nodeID).Build(l.t.Context(), runtime.BuildSpec{
		Tags: []string{build.Image(owner)},
		Labels: map[string]string{
			api.LabelBuildOwner: owner.AppID(), api.LabelBuildScope: owner.Scope, api.LabelBuildID: build.ID,
		},
	}, func(string) {})
	l.must(err)
	l.commit(records.NewTxn("test").Put(records.ImageKey(owner),
		api.ImageRequest{Owner: owner, Image: build.Image(owner), Build: build}))
	l.settle()
	return made.ID
}

// TestABuildIsForItsScope: names and ids of another scope's build are not that build, even if it was first: a
// registry's image of that name is, and keeps the name.
func TestABuildIsForItsScope(t *testing.T) {
	streaming := api.Ref{Kind: api.KindJob, Scope: "nats", Name: "streaming"}
	tests := map[string]struct {
		reason string
		asks   func(l *harness, built string) string
		want   func(built, published string) string
	}{
		"by name": {"the registry's is meant", func(*harness, string) string { return "nats-streaming:latest" },
			func(_, published string) string { return published }},
		"by whole name": {"the registry's is meant",
			func(*harness, string) string { return "docker.io/library/nats-streaming" },
			func(_, published string) string { return published }},
		"by id": {"it is another's", func(_ *harness, built string) string { return built },
			func(string, string) string { return "" }},
		"by build": {"it is another's", func(*harness, string) string { return "nats-streaming:abababababab" },
			func(string, string) string { return "" }},
		"pushed": {"a registry's name was given by a person", func(l *harness, built string) string {
			l.must(l.engine.Client(cluster, nodeID).Tag(l.t.Context(), built, "registry.example/streaming:1"))
			return "registry.example/streaming:1"
		}, func(built, _ string) string { return built }},
		"same scope": {"it is the scope's own", func(l *harness, _ string) string {
			l.builtFor(api.Ref{Kind: api.KindJob, Scope: web.Scope, Name: "base"}, "cdcdcdcdcdcd")
			return "shop-base"
		}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newHarness(t)
				published := l.engine.PublishImage("nats-streaming:latest")
				l.engine.PublishImage("docker.io/library/nats-streaming:latest")
				l.start()
				defer l.close()
				built := l.builtFor(streaming, "abababababab")
				asked := tc.asks(l, built)
				l.request(asked, "")
				l.pass(time.Second)
				got := l.answer()
				switch {
				case tc.want == nil:
					if got.State != api.ImagePresent || got.ImageID == "" {
						t.Errorf("%s: %+v", tc.reason, got)
					}
				case asked == "docker.io/library/nats-streaming":
					if got.State != api.ImagePresent || got.ImageID == built {
						t.Errorf("%s: %+v", tc.reason, got)
					}
				case tc.want(built, published) == "" && got.State != api.ImageFailed:
					t.Errorf("%s: %+v", tc.reason, got)
				case got.ImageID != tc.want(built, published):
					t.Errorf("%s: %+v", tc.reason, got)
				}
				before := l.engine.Calls()["pull"]
				l.builtFor(streaming, "efefefefefef") // does not move another's name
				l.pass(time.Second)
				if after := l.answer(); after.ImageID != got.ImageID || l.engine.Calls()["pull"] != before {
					t.Errorf("%s: a build moved the answer from %+v to %+v, after %d more pulls", tc.reason, got, after,
						l.engine.Calls()["pull"]-before)
				}
			})
		})
	}
}

// TestAnAmbiguousNameIsBuiltAgain: a-b's c may have the names that b-c of a had, and not its build.
func TestAnAmbiguousNameIsBuiltAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := newBuildHarness(t)
		defer l.close()
		former := api.Ref{Kind: api.KindDeployment, Scope: "shop-a", Name: "web"}
		gone := l.builtFor(former, "aaaaaaaaaaaa")
		l.commit(records.NewTxn("test").Delete(records.ImageKey(former)))
		next := api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: "a-web"}
		build := api.NewImageBuild("sha256:aaaaaaaaaaaa", api.Build{})
		l.commit(records.NewTxn("test").Put(records.ImageKey(next),
			api.ImageRequest{Owner: next, Image: build.Image(next), Build: build}))
		l.pass(time.Minute)
		read := l.snapshot().ImageStatus(nodeID, next)
		if !read.Exists() || read.Value.ImageID == gone || len(w.seen(&w.begun)) != 1 {
			t.Errorf("answer %+v, builds %v", read.Value, w.seen(&w.begun))
		}
	})
}

// TestAnInitRunsNoBuildOfAnotherScope: its image is resolved when its container is made.
func TestAnInitRunsNoBuildOfAnotherScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, initsLast(10*time.Second))
		l.start()
		defer l.close()
		l.builtFor(api.Ref{Kind: api.KindJob, Scope: "bank", Name: "vault"}, "abababababab")
		step := run("steal")
		step.Image = "bank-vault:latest"
		task := l.deploy("aa", withInits(step))
		l.pass(5 * time.Second)
		l.wantInits("")
		l.want(task, api.TaskRejected, false, "ImageNotFound")
	})
}
