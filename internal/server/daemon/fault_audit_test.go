package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// audit reads every commit of a store's life and checks the invariants between any two of them, whichever part crashed
// where.
type audit struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	faults []string
	// last is the newest value of each existing key.
	last map[string][]byte
	// handed maps the slots that a batch gave to another task to the task they had.
	handed map[string]string
	// answers holds "<object> <generation> <outcome>" for what a cluster has said; the outcome is good, or the reason of a
	// failure.
	answers map[string]bool
}

func startAudit(t *testing.T, s store.Store) *audit {
	ctx, cancel := context.WithCancel(context.Background())
	a := &audit{
		cancel: cancel, done: make(chan struct{}), last: map[string][]byte{}, handed: map[string]string{},
		answers: map[string]bool{},
	}
	watch := s.Watch(ctx, "/", 1)
	go func() {
		defer close(a.done)
		for batch := range watch.Batches() {
			for _, event := range batch.Events {
				a.check(event)
			}
			a.handedOver()
		}
	}()
	t.Cleanup(func() { cancel(); <-a.done })
	return a
}

// findings returns the rules that were broken.
func (a *audit) findings() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.faults
}

func (a *audit) check(event store.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	was, existed := a.last[event.Key]
	if event.Deleted {
		delete(a.last, event.Key)
		a.forgotten(event.Key)
		return
	}
	a.last[event.Key] = event.Value
	switch {
	case strings.HasPrefix(event.Key, records.StatusPrefix+string(api.KindApplicationInstance)+"/"):
		a.answered(event.Key, was, event.Value)
	case !existed:
	case strings.HasPrefix(event.Key, records.TasksPrefix):
		a.raised(event.Key, was, event.Value)
	case strings.HasPrefix(event.Key, records.ActualTasksPrefix):
		a.moved(event.Key, was, event.Value)
	case strings.HasPrefix(event.Key, records.SlotsPrefix):
		a.handed[event.Key] = string(was)
	case strings.HasPrefix(event.Key, records.ReleasesPrefix):
		if sealedEnv.ReplaceAllString(string(was), "") != sealedEnv.ReplaceAllString(string(event.Value), "") {
			a.fault("%s was rewritten from %s to %s", event.Key, was, event.Value)
		}
	}
}

// sealedEnv matches the environment of a release, which a rotation of keys seals again. envHash tells if it is another.
var sealedEnv = regexp.MustCompile(`"env":"[^"]*",?`)

// handedOver: only an ordinal may be given to another task, and the same batch deletes its earlier task.
func (a *audit) handedOver() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for slot, task := range a.handed {
		_, there := a.last[records.TaskKey(task)]
		if is := string(a.last[slot]); is != task &&
			(there || !strings.HasPrefix(slot, records.SlotsPrefix+string(api.KindStatefulSet))) {
			a.fault("%s was rewritten from %s to %s", slot, task, is)
		}
	}
	clear(a.handed)
}

// raised: a desired state only increases, and a node is chosen once.
func (a *audit) raised(key string, was, is []byte) {
	var before, after api.Task
	decode(was, &before)
	decode(is, &after)
	if !before.Desired.CanBecome(after.Desired) {
		a.fault("%s: desired fell from %s to %s", key, before.Desired, after.Desired)
	}
	if before.Node != "" && before.Node != after.Node {
		a.fault("%s moved from node %s to %q", key, before.Node, after.Node)
	}
}

// moved: an observed state only moves forward.
func (a *audit) moved(key string, was, is []byte) {
	var before, after api.TaskStatus
	decode(was, &before)
	decode(is, &after)
	if !before.State.CanBecome(after.State) {
		a.fault("%s: the state went from %s to %s", key, before.State, after.State)
	}
}

// forgotten: the desired half of a task is deleted last.
func (a *audit) forgotten(key string) {
	id, ok := strings.CutPrefix(key, records.TasksPrefix)
	if !ok {
		return
	}
	if left, there := a.last[records.TaskStatusKey(id)]; there {
		a.fault("%s was forgotten while its agent still reports %s", key, left)
	}
}

func (a *audit) fault(format string, args ...any) {
	a.faults = append(a.faults, fmt.Sprintf(format, args...))
}

func decode(raw []byte, into any) {
	if err := json.Unmarshal(raw, into); err != nil {
		panic(err)
	}
}
