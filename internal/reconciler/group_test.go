package reconciler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// diary records what members do, in order.
type diary struct {
	mu      sync.Mutex
	entries []string
}

func (d *diary) add(entry string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, entry)
}

func (d *diary) want(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.entries, want) {
		t.Errorf("diary %q, want %q", d.entries, want)
	}
}

// fakeMember runs until its context ends, or returns at once if err is set.
type fakeMember struct {
	name  string
	diary *diary
	ready chan struct{}
	// prompt members are ready as soon as they run; otherwise the test closes ready.
	prompt bool
	// hang keeps Run from returning until it is closed.
	hang chan struct{}
	err  error
}

func newMember(d *diary, name string, prompt bool) *fakeMember {
	return &fakeMember{name: name, diary: d, ready: make(chan struct{}), prompt: prompt}
}

func (m *fakeMember) Name() string           { return m.name }
func (m *fakeMember) Ready() <-chan struct{} { return m.ready }

func (m *fakeMember) Run(ctx context.Context) error {
	m.diary.add("start " + m.name)
	defer m.diary.add("stop " + m.name)
	if m.prompt {
		close(m.ready)
	}
	if m.err != nil {
		return m.err
	}
	<-ctx.Done()
	if m.hang != nil {
		<-m.hang
	}
	return nil
}

func runGroup(t *testing.T, g *Group) (cancel func() error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	synctest.Wait()
	return func() error { stop(); return <-ended }
}

func groupReady(g *Group) bool {
	select {
	case <-g.Ready():
		return true
	default:
		return false
	}
}

func TestGroupStartsInOrderAndStopsInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		first, second := newMember(d, "first", false), newMember(d, "second", true)
		g := NewGroup(GroupOptions{}, first, second)
		cancel := runGroup(t, g)
		d.want(t, "start first")
		if groupReady(g) {
			t.Error("ready though the first member isn't")
		}
		close(first.ready)
		synctest.Wait()
		d.want(t, "start first", "start second")
		if !groupReady(g) {
			t.Error("not ready though both members are")
		}
		if err := cancel(); err != nil {
			t.Errorf("Run: %v", err)
		}
		d.want(t, "start first", "start second", "stop second", "stop first")
	})
}

func TestGroupStartWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		g := NewGroup(GroupOptions{StartWait: time.Second}, newMember(d, "slow", false), newMember(d, "next", true))
		cancel := runGroup(t, g)
		<-time.After(time.Second)
		synctest.Wait()
		d.want(t, "start slow", "start next")
		if err := cancel(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestGroupStopWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		stuck := newMember(d, "stuck", true)
		stuck.hang = make(chan struct{})
		g := NewGroup(GroupOptions{}, newMember(d, "first", true), stuck)
		cancel := runGroup(t, g)
		begun := time.Now()
		err := cancel()
		var stuckError *StuckError
		if !errors.As(err, &stuckError) || stuckError.Name != "stuck" {
			t.Errorf("Run: %v, want a StuckError naming the member", err)
		}
		if took := time.Since(begun); took != 15*time.Second {
			t.Errorf("gave up after %v, want 15 s", took)
		}
		d.want(t, "start first", "start stuck", "stop first")
		close(stuck.hang)
		synctest.Wait()
	})
}

func TestGroupEndsWhenAMemberDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		broken := newMember(d, "broken", true)
		broken.err = errFlaky
		g := NewGroup(GroupOptions{}, newMember(d, "first", true), broken)
		if err := g.Run(t.Context()); !errors.Is(err, errFlaky) {
			t.Errorf("Run: %v, want %v", err, errFlaky)
		}
		d.want(t, "start first", "start broken", "stop broken", "stop first")
	})
}

func TestGroupRunsControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := Func(func(context.Context, Key) (Result, error) { return Result{}, nil })
		g := NewGroup(GroupOptions{},
			New(Options{Name: "deployment", Reconciler: done, Replay: listing(web)}),
			NewGroup(GroupOptions{}, New(Options{Name: "task", Reconciler: done})),
		)
		cancel := runGroup(t, g)
		if !groupReady(g) {
			t.Error("not ready though every controller is")
		}
		if err := cancel(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
