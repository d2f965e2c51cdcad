package syncer

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
)

// hung has the polls of a folder hang in the disk from now on, which no context ends, until answer is closed.
func (w *world) hung() (answer chan struct{}) {
	answer = make(chan struct{})
	w.syncer.Now = func() time.Time { <-answer; return time.Now() }
	return answer
}

// folders lists what is on the disk of syncs.
func (w *world) folders() (names []string) {
	entries, _ := os.ReadDir(w.syncer.Folder)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// inBubble runs a test on a world with a folder of one manifest, of which one poll hangs.
func inBubble(t *testing.T, test func(w *world, hangs api.SyncSpec, answer chan struct{})) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, folder := newWorld(t), t.TempDir()
		lay(t, folder, map[string]string{"web.hcl": manifestOf("web", "web:1")})
		spec := api.SyncSpec{Dir: folder}
		w.want("before", spec, "web=web:1")
		answer := w.hung()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _, _ = w.syncer.Poll(w.Context(), syncOf(spec))
		}()
		synctest.Wait()
		w.syncer.Now = time.Now
		test(w, spec, answer)
		<-ended
	})
}

// TestAnotherSourceInsteadOfOneThatHangs: the sync is mended by another source, while the poll of the old one goes on;
// what that finds at last is of no use to anything.
func TestAnotherSourceInsteadOfOneThatHangs(t *testing.T) {
	inBubble(t, func(w *world, hangs api.SyncSpec, answer chan struct{}) {
		other := w.TempDir()
		lay(w.T, other, map[string]string{"web.hcl": manifestOf("web", "web:2")})
		began := time.Now()
		w.want("another source", api.SyncSpec{Dir: other}, "web=web:2")
		if waited := time.Since(began); waited > endTime {
			t.Errorf("it waited for %s", waited)
		}
		w.want("again", api.SyncSpec{Dir: other}, "web=web:2")
		close(answer)
		synctest.Wait()
		w.want("once the old one answers", api.SyncSpec{Dir: other}, "web=web:2")
		w.want("the old one, which answers", hangs, "web=web:1")
		if got := w.folders(); len(got) != 1 {
			t.Errorf("the disk has %v", got)
		}
	})
}

// TestASourceThatHangsIsNotPolledTwice: the next poll, of a new term, says what it waits for; an apply of what was
// fetched before doesn't wait.
func TestASourceThatHangsIsNotPolledTwice(t *testing.T) {
	inBubble(t, func(w *world, hangs api.SyncSpec, answer chan struct{}) {
		w.wantFault("a second poll", hangs, api.ReasonFetchFailed, "an earlier poll of it has not ended")
		if applied := w.syncer.Apply(w.Context(), term{}, syncOf(hangs)); applied.Fault != nil || w.applied != "web=web:1" {
			t.Errorf("applied %q, %v", w.applied, applied.Fault)
		}
		close(answer)
		synctest.Wait()
		w.want("once it answers", hangs, "web=web:1")
	})
}

// TestAPollThatWaitsForAnApplyEnds: it gives its turn back when it is cancelled, and is not taken for one that hangs.
func TestAPollThatWaitsForAnApplyEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, folder := newWorld(t), t.TempDir()
		lay(t, folder, map[string]string{"web.hcl": manifestOf("web", "web:1")})
		spec := api.SyncSpec{Dir: folder}
		w.want("before", spec, "web=web:1")
		lay(t, folder, map[string]string{"web.hcl": manifestOf("web", "web:2")})
		f := w.syncer.known["uid-1"]
		if err := f.tip.take(t.Context()); err != nil { // as an apply does
			t.Fatal(err)
		}
		for range 2 {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("it is over"))
			_, _, err := w.syncer.Poll(ctx, syncOf(spec))
			if cancel(); err == nil || !strings.Contains(err.Error(), "it is over") {
				t.Errorf("a poll beside an apply: %v", err)
			}
		}
		f.tip.give()
		w.want("after it", spec, "web=web:2")
	})
}

// TestRemovalWaitsForNoPoll: the first poll of a term removes what syncs that are gone have left, and every other sync
// waits for that. A poll that hangs removes its own when it ends.
func TestRemovalWaitsForNoPoll(t *testing.T) {
	for name, remove := range map[string]func(*Syncer){
		"keep": func(s *Syncer) { s.Keep([]string{"uid-2"}) },
		"drop": func(s *Syncer) { s.Drop("uid-1") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world, hangs api.SyncSpec, answer chan struct{}) {
				remove(w.syncer)
				w.want("declared again with the uid", hangs, "web=web:1")
				if got := strings.Join(w.folders(), " "); !strings.Contains(got, "uid-1.2") {
					t.Errorf("it uses the folder of the poll that hangs: %s", got)
				}
				close(answer)
				synctest.Wait()
				if got := w.folders(); !slices.Equal(got, []string{"uid-1.2"}) {
					t.Errorf("the disk has %v once the poll has ended", got)
				}
			})
		})
	}
}

// TestAnEarlierProcessLeavesNothing: the folders that it made beside those of polls that hung are removed.
func TestAnEarlierProcessLeavesNothing(t *testing.T) {
	w := newWorld(t)
	lay(t, w.syncer.Folder, map[string]string{"uid-1/tree/a": "", "uid-1.2/tree/a": "", "uid-3/tree/a": "",
		"not a uid/a": ""})
	w.syncer.Keep([]string{"uid-1"})
	if got := w.folders(); !slices.Equal(got, []string{"not a uid", "uid-1"}) {
		t.Errorf("the disk has %v", got)
	}
}
