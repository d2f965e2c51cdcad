package agent

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"tend.dev/tend/api"
)

// lingering is a builder whose builds of one image take time to end, while others end at once.
type lingering struct {
	id    string
	until chan struct{}
}

func (l lingering) Build(ctx context.Context, _ api.Ref, build api.ImageBuild, _ func(string)) error {
	if build.ID == l.id {
		<-l.until
	}
	return ctx.Err()
}

// TestABuildIsAskedForAgain: a request while a cancelled build of the same is still ending, or waits for its turn, is
// built.
func TestABuildIsAskedForAgain(t *testing.T) {
	for _, atOnce := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			until := make(chan struct{})
			operations := newOperations(atOnce)
			b := newBuilds(lingering{"a", until}, operations)
			owner := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
			ends := make(chan string, 10)
			for _, step := range []struct{ id, said string }{{"a", "a, ended"}, {"b", "b, ended"}, {"a", "a, again"}} {
				b.begin(context.Background(), api.ImageRequest{Owner: owner, Image: "prod-web:" + step.id,
					Build: &api.ImageBuild{ID: step.id}}, listener{
					progress: func() {}, wake: func() {}, record: func(err error) {
						if err == nil {
							ends <- step.said
						}
					},
				})
			}
			close(until)
			synctest.Wait()
			if len(ends) != 1 || <-ends != "a, again" {
				t.Errorf("%d at once: the last one did not end", atOnce)
			}
			if _, running := b.running(imageRequest{owner: owner, image: "prod-web:a"}); running {
				t.Errorf("%d at once: it counts as running for ever", atOnce)
			}
		})
	}
}

// TestTheSameImageOfTwo: each owner is notified of the end.
func TestTheSameImageOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		b := newBuilds(lingering{"a", until}, newOperations(2))
		var ended []api.Kind
		notified := make(chan api.Kind, 2)
		for _, kind := range []api.Kind{api.KindDeployment, api.KindJob} {
			owner := api.Ref{Kind: kind, Scope: "prod", Name: "web"}
			b.begin(context.Background(), api.ImageRequest{Owner: owner, Image: "prod-web:a", Build: &api.ImageBuild{ID: "a"}},
				listener{
					progress: func() {}, record: func(error) {}, wake: func() { notified <- kind },
				})
		}
		close(until)
		synctest.Wait()
		for len(notified) > 0 {
			ended = append(ended, <-notified)
		}
		if slices.Sort(ended); len(ended) != 2 {
			t.Errorf("notified: %v", ended)
		}
	})
}
