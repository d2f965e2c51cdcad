package controltest

import (
	"context"
	"maps"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// startTime passes before something has started.
const startTime = time.Millisecond

// Node plays the node n1: it answers for images and runs containers. It works after each write, and when a container is
// due to end. Its fields are read and written in Set and SetQuietly.
type Node struct {
	// Images maps the existing images to their ids.
	Images map[string]string
	// Containers run for Lasts, a stop takes Grace, Code is their exit code. Default an hour, 0, 0.
	Lasts, Grace time.Duration
	Code         int
	// Rejects counts the containers that can't be started from now on; Cut says that the node is away.
	Rejects int
	Cut     bool

	w           *World
	wake        chan struct{}
	done, ended chan struct{}
	mu          sync.Mutex
	containers  map[string]*container // by task
	made, most  map[api.Ref]int       // how many containers an owner had, and how many at once
	looksAgain  bool
}

type container struct {
	owner                api.Ref
	startedAt, stopAsked time.Time
	rejected             bool
}

func newNode(w *World, images map[string]string) *Node {
	n := &Node{
		Images: maps.Clone(images), Lasts: time.Hour, w: w, made: map[api.Ref]int{}, most: map[api.Ref]int{},
		wake: make(chan struct{}, 1), done: make(chan struct{}), ended: make(chan struct{}),
		containers: map[string]*container{},
	}
	w.OnChange(func(change view.Change) {
		switch change.New.(type) {
		case *api.Task, *api.ImageRequest, nil:
			n.awaken()
		}
	})
	go n.work()
	return n
}

// Set changes how the node behaves from now on. It looks again for the images that it had not.
func (n *Node) Set(change func(n *Node)) {
	n.SetQuietly(func(n *Node) {
		change(n)
		n.looksAgain = true
	})
	n.awaken()
}

// SetQuietly changes the world around the node, which doesn't notice.
func (n *Node) SetQuietly(change func(n *Node)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
}

// Containers returns the tasks of an owner that have a container, running or not.
func (n *Node) Containers(owner api.Ref) (tasks []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, c := range n.containers {
		if c.owner == owner {
			tasks = append(tasks, id)
		}
	}
	return tasks
}

// Made returns how many containers of an owner were made.
func (n *Node) Made(owner api.Ref) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.made[owner]
}

// Most returns how many containers of an owner ran at once.
func (n *Node) Most(owner api.Ref) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.most[owner]
}

func (n *Node) stop() { close(n.done); <-n.ended }

func (n *Node) awaken() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *Node) work() {
	defer close(n.ended)
	for {
		timer := time.NewTimer(time.Until(n.act()))
		select {
		case <-n.done:
			timer.Stop()
			return
		case <-timer.C:
		case <-n.wake:
			timer.Stop()
			<-time.After(startTime)
		}
	}
}

// act does what is to do now, and returns when something changes without a write.
func (n *Node) act() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now().UTC()
	next := now.Add(10000 * time.Hour)
	if n.Cut {
		return next
	}
	s, txn := n.w.Snapshot(), records.NewTxn("agent")
	for _, request := range s.ImageRequests() {
		n.answer(txn, s, *request.Value, now)
	}
	n.looksAgain = false
	running := map[api.Ref]int{}
	for _, task := range s.Tasks() {
		if task.Value.Node != "n1" {
			continue
		}
		status, at := n.advance(*task.Value, s.TaskStatus(task.Value.ID).Value, now)
		n.report(txn, s, task.Value.ID, status)
		if !at.IsZero() && at.Before(next) {
			next = at
		}
		if status != nil && status.State == api.TaskRunning {
			owner := task.Value.Owner()
			running[owner]++
			n.most[owner] = max(n.most[owner], running[owner])
		}
	}
	if revision, err := txn.Commit(context.Background(), n.w.Store); err == nil && revision > 0 {
		_ = n.w.View.WaitFor(context.Background(), revision)
	}
	return next
}

func (n *Node) report(txn *records.Txn, s records.Snapshot, task string, status *api.TaskStatus) {
	key, was := records.TaskStatusKey(task), s.TaskStatus(task).Value
	switch {
	case status == nil && was != nil:
		txn.Delete(key)
	case status != was:
		txn.Put(key, *status)
	}
}

func (n *Node) answer(txn *records.Txn, s records.Snapshot, r api.ImageRequest, now time.Time) {
	next := api.ImageStatus{Owner: r.Owner, OwnerUID: r.OwnerUID, Node: "n1", Image: r.Image, Nonce: r.Nonce,
		State: api.ImagePresent, UpdatedAt: now}
	if next.ImageID = n.Images[r.Image]; next.ImageID == "" {
		next.State, next.Reason, next.Message = api.ImageFailed, "ImageNotFound",
			"docker.io has no image "+r.Image
	}
	was := s.ImageStatus("n1", r.Owner).Value
	moved := was != nil && (was.State == api.ImagePresent || n.looksAgain) &&
		(was.State != next.State || was.ImageID != next.ImageID)
	if was == nil || !was.Answers(r) || moved {
		txn.Put(records.ImageStatusKey("n1", r.Owner), next)
	}
}
