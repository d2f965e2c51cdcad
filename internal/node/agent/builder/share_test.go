package builder

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// TestObjectsThatAreBuiltAlikeShareOneBuild: three objects request one build at once; the engine builds once, and each
// has its name. Another tree, other arguments, or another scope are another build.
func TestObjectsThatAreBuiltAlikeShareOneBuild(t *testing.T) {
	b := newBench(t)
	files := map[string]string{"Dockerfile": "FROM scratch\n"}
	of, other := b.pack(api.Build{}, files), b.pack(api.Build{Args: map[string]string{"A": "1"}}, files)
	names := []string{"web", "worker", "migrate"}
	synctest.Test(t, func(t *testing.T) {
		b.engine.takes = time.Minute / 2
		ends := make(chan error)
		for _, name := range names {
			go func() {
				ends <- b.builder.Build(t.Context(),
					api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: name}, of, func(string) {})
			}()
		}
		for range names {
			if err := <-ends; err != nil {
				t.Error(err)
			}
		}
		if b.engine.builds != 1 {
			t.Errorf("it was built %d times", b.engine.builds)
		}
		wantNames(b, names, of)
		if err := b.builder.Build(t.Context(), web, other, func(string) {}); err != nil || b.engine.builds != 2 {
			t.Errorf("with other arguments: %d builds, %v", b.engine.builds, err)
		}
		elsewhere := api.Ref{Kind: api.KindDeployment, Scope: "bank", Name: "web"}
		if err := b.builder.Build(t.Context(), elsewhere, of, func(string) {}); err != nil || b.engine.builds != 3 {
			t.Errorf("in another scope: %d builds, %v", b.engine.builds, err)
		}
	})
}

// wantNames checks the names of each object, whether the image was built or tagged.
func wantNames(b *bench, names []string, of api.ImageBuild) {
	b.Helper()
	named := slices.Clone(b.engine.spec.Tags)
	for _, tagged := range b.engine.tagged {
		named = append(named, tagged[len(b.engine.spec.Tags[0])+1:])
	}
	var want []string
	for _, name := range names {
		want = append(want, "prod-"+name+":"+of.ID)
	}
	slices.Sort(named)
	slices.Sort(want)
	if diff := cmp.Diff(want, named); diff != "" {
		b.Error(diff)
	}
}

// TestAFailedBuildIsNotShared: an object that waited builds by itself.
func TestAFailedBuildIsNotShared(t *testing.T) {
	b := newBench(t)
	of := b.pack(api.Build{}, map[string]string{"Dockerfile": "FROM scratch\n"})
	b.engine.fail = errors.New("no space")
	for range 2 {
		if _, err := b.build(of); err == nil {
			t.Error("it was built")
		}
	}
	if b.engine.builds != 2 || len(b.engine.tagged) > 0 {
		t.Errorf("%d builds, tagged %v", b.engine.builds, b.engine.tagged)
	}
}

func TestSurplus(t *testing.T) {
	built := []runtime.BuiltImage{
		{ID: "1", Origin: runtime.Origin{Owner: "prod-web", Build: "a1"}, Tags: []string{"prod-web:a1"}},
		{ID: "2", Origin: runtime.Origin{Owner: "prod-web", Build: "b2"}, Tags: []string{"prod-web:b2", "prod-web:latest"}},
		{ID: "3", Origin: runtime.Origin{Owner: "prod-old", Build: "c3"}, Tags: []string{"prod-old:c3", "prod-old:latest"}},
		{ID: "4", Origin: runtime.Origin{Owner: "prod-job", Build: "d4"}, Tags: []string{"prod-job:d4"}},
		{ID: "4", Origin: runtime.Origin{Owner: "prod-job", Build: "d4"}, Tags: []string{"prod-job:latest"}},
		{ID: "5", Origin: runtime.Origin{Owner: "prod-gone", Build: "e5"}, Tags: []string{"prod-gone:e5", "prod-shares:e5"}},
	}
	used := map[string]bool{"prod-web:b2": true, "prod-job:d4": true, "prod-other:a1": true, "prod-shares:e5": true}
	if diff := cmp.Diff([]string{"prod-web:a1", "prod-old:c3", "prod-old:latest", "prod-gone:e5"},
		Surplus(built, used)); diff != "" {
		t.Error(diff)
	}
}
