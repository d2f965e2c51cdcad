package agent_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// elsewhere is an image that another node has.
var elsewhere = "sha256:" + strings.Repeat("e", 64)

// other is another node. It counts how often its image is read.
type other struct {
	mu    sync.Mutex // held while a test with attempts under way reads or sets the fields
	reads int
	err   error
	// cuts are the numbers of bytes after which the first connections end; parts is the number that had come before
	// each.
	cuts  []int64
	parts []int64
	// endless is set if the archive has no end.
	endless bool
}

func (o *other) image(_ context.Context, on, id string, has node.Part) (io.ReadCloser, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reads++
	if o.err != nil || on != "n2" || id != elsewhere {
		return nil, errors.Join(o.err, runtime.ErrNotFound)
	}
	o.parts = append(o.parts, has.Size)
	if o.endless {
		return nodeapi.SendFrom(func() (io.ReadCloser, error) { return io.NopCloser(without{}), nil }, node.Part{})
	}
	content, err := nodeapi.SendFrom(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(id)), nil },
		has)
	if o.reads > len(o.cuts) || err != nil {
		return content, err
	}
	return io.NopCloser(io.MultiReader(io.LimitReader(content, 8+o.cuts[o.reads-1]),
		iotest.ErrReader(io.ErrUnexpectedEOF))), nil
}

// obtains starts an agent beside another node, with tasks of a release whose image only that one may have.
func obtains(t *testing.T, l *harness, o *other, digest string, tasks int) (made []api.Task) {
	t.Helper()
	l.imageOf, l.imageID, l.digest = o.image, elsewhere, digest
	l.start()
	l.commit(records.NewTxn("test").Put(records.AliveKey("n2"), "n2"))
	for i := range tasks {
		made = append(made, l.deploy(taskID(i+1), func(_ *api.Task, spec *api.DeploymentSpec) { spec.Image = "loaded:1" }))
	}
	l.pass(5 * time.Second)
	return made
}

// wantImage checks what a task's container was really made from.
func (l *harness) wantImage(task api.Task, id string) {
	l.t.Helper()
	if c := l.wantContainer(task, runtime.StateRunning); c.ImageID != id {
		l.t.Errorf("%s runs %s, want %s", task.ID, c.ImageID, id)
	}
}

// An image without a registry comes from the node that has it, once for all tasks that wait; it gets no name here, and
// no registry is asked.
func TestAnImageOfAnotherNodeIsFetchedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := newHarness(t), &other{}
		for _, task := range obtains(t, l, o, "", 3) {
			l.wantImage(task, elsewhere)
		}
		if calls := l.engine.Calls(); o.reads != 1 || calls["pull"] != 0 || calls["tag"] != 0 {
			t.Errorf("%d reads, calls %v", o.reads, calls)
		}
		l.close()
	})
}

// TestABuiltImageIsFetched: no registry has what a node built, so none is asked.
func TestABuiltImageIsFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := newHarness(t), &other{}
		l.build = &api.ImageBuild{ID: "0123456789ab"}
		l.wantImage(obtains(t, l, o, "", 1)[0], elsewhere)
		if calls := l.engine.Calls(); o.reads != 1 || calls["pull"] != 0 {
			t.Errorf("%d reads, calls %v", o.reads, calls)
		}
		l.close()
	})
}

// A copy that was cut goes on where it was, and leaves nothing behind.
func TestACutCopyGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := newHarness(t), &other{cuts: []int64{30, 0, 20}}
		l.spool = filepath.Join(t.TempDir(), "transfers")
		task := obtains(t, l, o, "", 1)[0]
		l.pass(5 * time.Second) // the third one waits for 4 s
		l.wantImage(task, elsewhere)
		if want := []int64{0, 30, 30, 50}; !slices.Equal(o.parts, want) {
			t.Errorf("there were %v bytes, want %v", o.parts, want)
		}
		if left, err := os.ReadDir(l.spool); len(left) != 0 || err != nil {
			t.Errorf("%v was left: %v", left, err)
		}
		l.close()
	})
}

// TestAnImageThatTheDiskHasNoRoomFor: of one without an end no more is written than the disk has room for, and that
// doesn't stay.
func TestAnImageThatTheDiskHasNoRoomFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, most := newHarness(t), int64(0)
		l.spool = filepath.Join(t.TempDir(), "transfers")
		l.room = func(file *os.File) (int64, error) {
			info, err := file.Stat()
			if err == nil {
				most = max(most, info.Size())
			}
			return 1<<20 - info.Size(), err
		}
		o := &other{endless: true}
		l.want(obtains(t, l, o, "", 1)[0], api.TaskPreparing, false, "DiskFull")
		if most > 1<<20 {
			t.Errorf("%d bytes were written", most)
		}
		if left, err := os.ReadDir(l.spool); len(left) != 0 || err != nil {
			t.Errorf("%v was left: %v", left, err)
		}
		l.close()
	})
}

// without is an archive without an end.
type without struct{}

func (without) Read(p []byte) (int, error) { return len(p), nil }

// What a registry has comes from there. It may be another image than on the node that resolved it, as on another
// architecture: its digest is the same.
func TestAnImageOfARegistryIsPulledByItsDigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := newHarness(t), &other{}
		digest := "sha256:" + strings.Repeat("d", 64)
		here := l.engine.PublishImage("loaded@" + digest)
		for _, task := range obtains(t, l, o, digest, 2) {
			l.wantImage(task, here)
		}
		if calls := l.engine.Calls(); o.reads != 0 || calls["pull"] != 1 {
			t.Errorf("%d reads, calls %v", o.reads, calls)
		}
		l.close()
	})
}

// While a node has the image, an unreachable registry doesn't matter.
func TestAnImageIsFetchedWhereItsRegistryFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := newHarness(t), &other{}
		digest := "sha256:" + strings.Repeat("d", 64)
		l.engine.FailPulls("loaded@"+digest, errors.New("no route to host"))
		l.wantImage(obtains(t, l, o, digest, 1)[0], elsewhere)
		l.close()
	})
}

// TestAnImageThatIsPinned: the image that the manifest pins by its digest runs, whatever digest and id another node
// reported for it: the id of another image that is here too, of one that only that node has, or the digest of another.
func TestAnImageThatIsPinned(t *testing.T) {
	good, evil := "sha256:"+strings.Repeat("d", 64), "sha256:"+strings.Repeat("6", 64)
	for name, test := range map[string]struct {
		id     func(l *harness) string
		digest string
		fails  bool // the registry
		runs   bool
	}{
		"the id of another image here": {id: func(l *harness) string { return l.engine.AddImage("debug:1") },
			digest: good, runs: true},
		"an id that only that node has": {digest: good, runs: true},
		"another digest":                {digest: evil, runs: true},
		"no digest":                     {runs: true},
		"the registry fails":            {digest: good, fails: true},
		"the registry fails, another id": {id: func(l *harness) string { return l.engine.AddImage("debug:1") },
			digest: evil, fails: true},
		"the registry fails, and no digest": {fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, o := newHarness(t), &other{}
				here := l.engine.PublishImage("pinned@" + good)
				l.engine.PublishImage("pinned@" + evil)
				if test.fails {
					l.engine.FailPulls("pinned@"+good, errors.New("no route to host"))
				}
				l.imageOf, l.imageID, l.digest = o.image, elsewhere, test.digest
				if test.id != nil {
					l.imageID = test.id(l)
				}
				l.start()
				l.commit(records.NewTxn("test").Put(records.AliveKey("n2"), "n2"))
				task := l.deploy(taskID(1), func(_ *api.Task, spec *api.DeploymentSpec) { spec.Image = "pinned@" + good })
				l.pass(5 * time.Second)
				if test.runs {
					l.wantImage(task, here)
				} else if got := l.container(task); got.ID != "" {
					t.Errorf("it runs %s", got.ImageID)
				}
				if o.reads != 0 {
					t.Errorf("it was read from another node %d times", o.reads)
				}
				l.close()
			})
		})
	}
}

// TestAPinnedImageIsCopiedByItsDigest: where the engine's ids are digests of a registry, a copy is checked against the
// manifest.
func TestAPinnedImageIsCopiedByItsDigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := newHarness(t), &other{}
		l.engine.FailPulls("pinned@"+elsewhere, errors.New("no route to host"))
		l.imageOf, l.imageID, l.digest = o.image, elsewhere, elsewhere
		l.start()
		l.commit(records.NewTxn("test").Put(records.AliveKey("n2"), "n2"))
		task := l.deploy(taskID(1), func(_ *api.Task, spec *api.DeploymentSpec) { spec.Image = "pinned@" + elsewhere })
		l.pass(5 * time.Second)
		l.wantImage(task, elsewhere)
		l.close()
	})
}

// TestAnImageThatIsNowhere: the task says why, and what helps.
func TestAnImageThatIsNowhere(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		present bool // the answer of n2 is recorded
		state   api.TaskState
		reason  string
	}{
		"no node has it":            {runtime.ErrNotFound, true, api.TaskRejected, api.ReasonImageNotFound},
		"its node is not connected": {node.ErrNotConnected, true, api.TaskPreparing, api.ReasonImageAway},
		"another node is not":       {node.ErrNotConnected, false, api.TaskRejected, api.ReasonImageNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, o := newHarness(t), &other{err: test.err}
				if test.present {
					answer := api.ImageStatus{Owner: web, Node: "n2", Image: "loaded:1", State: api.ImagePresent, ImageID: elsewhere}
					l.commit(records.NewTxn("test").Put(records.ImageStatusKey("n2", web), answer))
				}
				l.want(obtains(t, l, o, "", 1)[0], test.state, false, test.reason)
				l.close()
			})
		})
	}
}

// TestAnImageThatCantBeFetchedIsTriedLessAndLess: each attempt runs outside of the workers, and none of them resets the
// backoff.
func TestAnImageThatCantBeFetchedIsTriedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := newHarness(t), &other{cuts: slices.Repeat([]int64{0}, 10_000)}
		task := obtains(t, l, o, "", 1)[0]
		defer l.close()
		l.pass(5 * time.Minute)
		o.mu.Lock()
		if o.reads < 6 || o.reads > 20 {
			t.Errorf("it was asked for %d times within five minutes, want 1, 2, 4, 8, 16 and then 30 s between", o.reads)
		}
		o.cuts = nil
		o.mu.Unlock()
		l.pass(time.Minute)
		l.wantImage(task, elsewhere)
	})
}
