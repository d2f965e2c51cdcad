package agent_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// workshop is a Builder whose builds take 10 s, in two steps.
type workshop struct {
	l *harness

	mu    sync.Mutex
	begun []string
	cut   []string
	fail  error
}

// fails sets whether builds that end from now on fail.
func (w *workshop) fails(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = err
}

func (w *workshop) ending() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fail
}

// note records an image in one of the lists; seen returns its content.
func (w *workshop) note(list *[]string, image string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, image)
}

func (w *workshop) seen(list *[]string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(*list)
}

func (w *workshop) Build(ctx context.Context, owner api.Ref, build api.ImageBuild, step func(string)) error {
	image := build.Image(owner)
	w.note(&w.begun, image)
	for _, text := range []string{"1/2 FROM scratch", "2/2 COPY . ."} {
		step(text)
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
			w.note(&w.cut, image)
			return ctx.Err()
		}
	}
	if err := w.ending(); err != nil {
		return &agent.BuildError{Err: err, Log: []string{"no such file"}}
	}
	_, err := w.l.engine.Client(cluster, nodeID).Build(ctx, runtime.BuildSpec{
		Tags: []string{image}, Labels: map[string]string{api.LabelBuildScope: owner.Scope},
	}, step)
	return err
}

func newBuildHarness(t *testing.T) (*harness, *workshop) {
	l := newHarness(t)
	w := &workshop{l: l}
	l.builder = w
	l.start()
	return l, w
}

// ask requests the build of a tree, which a letter stands for, and returns its image.
func (l *harness) ask(tree, nonce string) string {
	l.t.Helper()
	build := api.NewImageBuild("sha256:"+strings.Repeat(tree, 64), api.Build{})
	request := api.ImageRequest{Owner: web, Image: build.Image(web), Nonce: nonce, Build: build}
	l.commit(records.NewTxn("test").Put(records.ImageKey(web), request))
	l.settle()
	return request.Image
}

func (l *harness) wantAnswer(state api.ImageState, image, step string) api.ImageStatus {
	l.t.Helper()
	got := l.answer()
	if got.State != state || got.Image != image || got.Step != step {
		l.t.Errorf("answer %+v, want %s of %s, step %q", got, state, image, step)
	}
	return got
}

func TestAnImageIsBuiltOnceAndShowsItsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := newBuildHarness(t)
		defer l.close()
		first := l.ask("a", "")
		l.wantAnswer(api.ImageBuilding, first, "1/2 FROM scratch")
		l.pass(6 * time.Second)
		l.wantAnswer(api.ImageBuilding, first, "2/2 COPY . .")
		l.pass(6 * time.Second)
		id := l.wantAnswer(api.ImagePresent, first, "").ImageID
		second := l.ask("b", "")
		l.pass(11 * time.Second)
		l.wantAnswer(api.ImagePresent, second, "")
		l.ask("a", "")
		if back := l.wantAnswer(api.ImagePresent, first, ""); back.ImageID != id || len(w.seen(&w.begun)) != 2 {
			t.Errorf("going back to the old tree: image %s, not %s; builds %v", back.ImageID, id, w.seen(&w.begun))
		}
		latest, err := l.engine.Client(cluster, nodeID).Resolve(t.Context(), "shop-web:latest")
		if err != nil || latest.ID != id {
			t.Errorf("latest is %+v, not what is in force: %v", latest, err)
		}
		if n := l.engine.Calls()["pull"]; n != 0 {
			t.Errorf("%d pulls of what no registry has", n)
		}
	})
}

func TestAFailedBuildIsTriedAgainWhenAskedOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := newBuildHarness(t)
		defer l.close()
		w.fails(&runtime.RejectedError{Reason: api.ReasonBuildFailed, Detail: "step 2/2 COPY . .: failed"})
		image := l.ask("a", "")
		l.pass(time.Hour)
		got := l.wantAnswer(api.ImageFailed, image, "")
		if got.Reason != api.ReasonBuildFailed || !strings.Contains(got.Message, "step 2/2") || len(got.Log) != 1 ||
			len(w.seen(&w.begun)) != 1 {
			t.Errorf("answer %+v after builds %v", got, w.seen(&w.begun))
		}
		w.fails(nil)
		l.ask("a", "again")
		l.pass(11 * time.Second)
		if l.wantAnswer(api.ImagePresent, image, ""); len(w.seen(&w.begun)) != 2 {
			t.Errorf("builds %v", w.seen(&w.begun))
		}
	})
}

func TestTransientFaultsAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := newBuildHarness(t)
		defer l.close()
		w.fails(&runtime.TransientError{Reason: "RegistryUnreachable", Detail: "no route"})
		image := l.ask("a", "")
		l.pass(11 * time.Second)
		if got := l.wantAnswer(api.ImageFailed, image, ""); got.RetryAt.IsZero() || got.Reason != "RegistryUnreachable" {
			t.Errorf("answer %+v", got)
		}
		w.fails(nil)
		l.pass(time.Minute)
		l.wantAnswer(api.ImagePresent, image, "")
	})
}

func TestAnotherTreeEndsTheBuildOfTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := newBuildHarness(t)
		defer l.close()
		first := l.ask("a", "")
		second := l.ask("b", "")
		if !slices.Equal(w.seen(&w.cut), []string{first}) {
			t.Errorf("cut %v", w.seen(&w.cut))
		}
		l.pass(11 * time.Second)
		l.wantAnswer(api.ImagePresent, second, "")
		l.ask("a", "")
		l.commit(records.NewTxn("test").Delete(records.ImageKey(web)))
		l.settle()
		if len(w.seen(&w.cut)) != 2 {
			t.Errorf("no request wants it any more, and it goes on: cut %v", w.seen(&w.cut))
		}
	})
}

// TestAnInterruptedBuildStartsAgain: the request exists, the image doesn't.
func TestAnInterruptedBuildStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := newBuildHarness(t)
		image := l.ask("a", "")
		l.stop()
		l.start()
		defer l.close()
		l.pass(11 * time.Second)
		if l.wantAnswer(api.ImagePresent, image, ""); len(w.seen(&w.begun)) != 2 {
			t.Errorf("builds %v", w.seen(&w.begun))
		}
	})
}

func TestWithoutABuilderARequestFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		image := l.ask("a", "")
		if got := l.wantAnswer(api.ImageFailed, image, ""); got.Reason != api.ReasonBuildFailed {
			t.Errorf("answer %+v", got)
		}
	})
}
