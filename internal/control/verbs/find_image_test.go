package verbs

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// finder answers for node n1, as the machine of member, that it has every image; asked are the images in question.
type finder struct {
	asked  []string
	node   string
	member int64
}

func (f *finder) find(_ context.Context, request api.ImageRequest, _ bool) (api.ImageStatus, int64, bool) {
	f.asked = append(f.asked, request.Image)
	return api.ImageStatus{Node: f.node, Image: request.Image, State: api.ImagePresent,
		ImageID: "sha256:" + request.Image}, f.member, true
}

// TestAnApplyStoresWhatANodeSaid: of the node that is asked for the image now, and for another image than before.
func TestAnApplyStoresWhatANodeSaid(t *testing.T) {
	web := deployment("prod", "web", `{"image":"web:1"}`)
	for name, c := range map[string]struct {
		reason string
		object api.Object
		finder finder
		before func(w *world)
		asks   bool
		stored bool
	}{
		"the node that is asked": {"", web, finder{node: "n1"}, nil, true, true},
		"another node":           {"it isn't asked", web, finder{node: "n2"}, nil, true, false},
		"another machine":        {"it has the name since", web, finder{node: "n1", member: 1}, nil, true, false},
		"an image of a build": {"it may have to be built", deployment("prod", "web", `{"build":{}}`),
			finder{node: "n1"}, nil, false, false},
		"a name that refers": {"it isn't known yet",
			deployment("prod", "web", `{"image":"${ref.deployment.api.image}"}`), finder{node: "n1"}, nil, false,
			false},
		"a record of the machine that changes": {"its roots are recorded meanwhile", web, finder{node: "n1"},
			func(w *world) {
				w.put(records.MemberKey("n1"), records.Member{UID: "m1"})
			}, true, false},
		"what has no pods": {"", api.Object{Kind: api.KindNetwork, Scope: api.Unscoped, Name: "cluster",
			Spec: []byte(`{}`)}, finder{node: "n1"}, nil, false, false},
		"a node with such an image": {"it was asked before", web, finder{node: "n1"}, func(w *world) {
			w.mustApply(deployment("prod", "web", `{"image":"web:1","replicas":3}`))
			request := api.ImageRequest{Owner: ref("prod", "web"), OwnerUID: "uid-1", Image: "web:1", Runtime: ""}
			w.put(records.ImageKey(request.Owner), request)
			_, _ = records.NewTxn("test").Delete(records.FoundKey(request.Owner)).Commit(context.Background(), w.store)
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.FindImage = c.finder.find })
			w.put(records.NodeKey("n1"), api.NodeStatus{ID: "n1", Ready: true, Runtime: "docker"})
			w.put(records.AliveKey("n1"), "n1")
			if c.before != nil {
				c.before(w)
				c.finder.asked = nil
			}
			if _, err := w.apply(ApplyOptions{}, c.object); err != nil && c.asks {
				t.Fatal(err)
			}
			if asks := len(c.finder.asked) > 0; asks != c.asks {
				t.Errorf("%s: asked is %q", c.reason, c.finder.asked)
			}
			found := w.snapshot().Found(c.object.Ref())
			if found.Exists() != c.stored {
				t.Fatalf("%s: stored is %+v", c.reason, found.Value)
			}
			if !c.stored {
				return
			}
			answer, object := found.Value.Answer, w.snapshot().Object(c.object.Ref())
			if answer.ImageID != "sha256:web:1" || answer.OwnerUID != object.Value.Metadata.UID ||
				answer.Owner != c.object.Ref() || found.Modified != object.Modified {
				t.Errorf("%+v of revision %d, the object is of %d", answer, found.Modified, object.Modified)
			}
		})
	}
}

// TestADryRunKnowsWhatANodeSays: it plans with it, and stores nothing.
func TestADryRunKnowsWhatANodeSays(t *testing.T) {
	f, planned := finder{node: "n1"}, false
	w := newWorld(t, func(o *Options) {
		o.FindImage = f.find
		o.Preview = func(s records.Snapshot, _ []api.Object, _ []api.Ref) ([]api.PlannedAction, error) {
			found := s.Found(ref("prod", "web"))
			planned = found.Exists() && found.Value.Answer.ImageID == "sha256:web:1" && found.Modified == 0
			return nil, nil
		}
	})
	w.put(records.NodeKey("n1"), api.NodeStatus{ID: "n1", Ready: true, Runtime: "docker"})
	w.put(records.AliveKey("n1"), "n1")
	if _, err := w.apply(ApplyOptions{DryRun: true}, deployment("prod", "web", `{"image":"web:1"}`)); err != nil {
		t.Fatal(err)
	}
	if !planned || w.snapshot().Found(ref("prod", "web")).Exists() {
		t.Errorf("planned with it: %v", planned)
	}
}

// TestANodeThatSaysNothing holds up an apply for a moment, however many objects it has, and even if the call doesn't
// end in time. What others said until then counts, and none is asked later.
func TestANodeThatSaysNothing(t *testing.T) {
	var objects []api.Object
	for _, name := range strings.Fields("a b c d e f g h i j k l m n o p q r s t") {
		objects = append(objects, deployment("prod", name, `{"image":"web:1"}`))
	}
	for name, end := range map[string]func(ctx context.Context, release chan struct{}) <-chan struct{}{
		"ends in time": func(ctx context.Context, _ chan struct{}) <-chan struct{} { return ctx.Done() },
		"goes on":      func(_ context.Context, release chan struct{}) <-chan struct{} { return release },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int64
				release := make(chan struct{})
				s := New(Options{FindImage: func(ctx context.Context, request api.ImageRequest, _ bool) (
					answer api.ImageStatus, member int64, ok bool) {
					asked.Add(1)
					if request.Owner.Name != "a" {
						<-end(ctx, release)
					}
					return answer, 0, true
				}})
				time.AfterFunc(time.Minute, func() { close(release) })
				began := time.Now()
				found := s.findImages(t.Context(), objects, ApplyOptions{})
				if _, said := found[objects[0].Ref()]; !said || time.Since(began) != findTime {
					t.Errorf("after %v: %v", time.Since(began), found)
				}
				before := asked.Load()
				<-release
				synctest.Wait()
				if after := asked.Load(); after != before || before > findsAtOnce+1 {
					t.Errorf("asked %d times, then %d times", before, after)
				}
			})
		})
	}
}
