package builder

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// TestObjectsThatAreBuiltAlikeShareOneBuild: three objects ask at once for one build; the engine builds once, and each has
// its names. Another tree, or other arguments, are another build.
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
				ends <- b.builder.Build(t.Context(), api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: name}, of, func(string) {})
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
	})
}

// wantNames finds an image by the names of each object, whether it was built or tagged.
func wantNames(b *bench, names []string, of api.ImageBuild) {
	b.Helper()
	named := slices.Clone(b.engine.spec.Tags)
	for _, tagged := range b.engine.tagged {
		named = append(named, tagged[len(b.engine.spec.Tags[0])+1:])
	}
	var want []string
	for _, name := range names {
		want = append(want, "prod-"+name+":"+of.ID, "prod-"+name+":latest")
	}
	slices.Sort(named)
	slices.Sort(want)
	if diff := cmp.Diff(want, named); diff != "" {
		b.Error(diff)
	}
}

// TestAFailedBuildIsNotShared: who waited tries by itself.
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
