package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/core/lab/labtest"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

var linux = api.Ref{Kind: api.KindLab, Scope: "school", Name: "linux"}

// harness is a world with the controller of labs.
type harness struct {
	*controltest.World
	// reconciles counts how often a lab was reconciled, commits how often the lab controllers wrote.
	reconciles, commits, passes atomic.Int64
	// trouble, if set, may fail a commit of the lab controllers, before or after it is applied.
	trouble func(site string) (before, after error)
	// recorded, if set, gets what all controllers write.
	recorded store.Store

	mu      sync.Mutex
	moves   map[api.Ref][]api.LabPhase
	changes []string
}

// inHarness runs a test in a bubble.
func inHarness(t *testing.T, do func(l *harness)) {
	t.Helper()
	l := &harness{moves: map[api.Ref][]api.LabPhase{}}
	opts := controltest.Options{Images: map[string]string{"lab:1": "sha256:1", "lab:2": "sha256:2"}}
	opts.Controllers = func(w *controltest.World) []control.Controller {
		l.World, w.Commits = w, l
		liveness := owner.NewLiveness(30*time.Second, 0, nil)
		w.OnChange(liveness.Notice)
		labs := controller(w.Deps(), Options{Liveness: liveness})
		return []control.Controller{&counted{labs, l}}
	}
	controltest.Run(t, opts, func(w *controltest.World) {
		w.OnChange(l.changed)
		w.Node.Set(func(n *controltest.Node) { n.Lasts = 1000 * time.Hour })
		do(l)
		l.checkMoves()
	})
}

func controller(deps control.Deps, opts Options) *control.Shell {
	return control.New(deps, Kind(deps, opts))
}

// counted is the controller, with a count of what it does.
type counted struct {
	*control.Shell
	l *harness
}

func (c *counted) Reconcile(ctx context.Context, key reconciler.Key) (reconciler.Result, error) {
	c.l.reconciles.Add(1)
	return c.Shell.Reconcile(ctx, key)
}

func (c *counted) Dirty(now time.Time) []reconciler.Key {
	c.l.passes.Add(1)
	return c.Shell.Dirty(now)
}

// changed records each phase that a lab was seen in.
func (l *harness) changed(change view.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if status, ok := change.Old.(*api.LabStatus); ok && change.Deleted {
		ref, _, _ := records.ParseRef(change.Key[len(records.StatusPrefix):])
		l.checkMovesOf(ref)
		l.moves[ref] = nil
		l.changes = append(l.changes, fmt.Sprintf("%s gone from %s", ref.Name, status.Phase))
	}
	if status, ok := change.New.(*api.LabStatus); ok && !change.Deleted {
		ref, _, _ := records.ParseRef(change.Key[len(records.StatusPrefix):])
		seen := l.moves[ref]
		if len(seen) == 0 || seen[len(seen)-1] != status.Phase {
			l.moves[ref] = append(seen, status.Phase)
			l.changes = append(l.changes, fmt.Sprintf("%s %s", ref.Name, status.Phase))
		}
	}
}

// checkMoves: what the store showed of each lab are legal moves, one at a time.
func (l *harness) checkMoves() {
	for ref := range l.moves {
		l.checkMovesOf(ref)
	}
}

func (l *harness) checkMovesOf(ref api.Ref) {
	from := api.LabPhase("")
	for _, to := range l.moves[ref] {
		if from != to && !labtest.Legal(from, to) {
			l.Errorf("%s moved from %s to %s; it was seen as %v", ref, from, to, l.moves[ref])
		}
		from = to
	}
}

// Commit is the store that the controllers write to.
func (l *harness) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	switch {
	case l.recorded != nil:
		return l.recorded.Commit(ctx, txn)
	case !strings.HasPrefix(txn.Site, "lab."):
		return l.Store.Commit(ctx, txn)
	}
	l.commits.Add(1)
	if l.trouble == nil {
		return l.Store.Commit(ctx, txn)
	}
	before, after := l.trouble(txn.Site)
	if before != nil {
		return 0, before
	}
	revision, err := l.Store.Commit(ctx, txn)
	if err == nil && after != nil {
		return 0, after
	}
	return revision, err
}

// labOf returns a lab that begins after a while and lasts so long; 0 is at once.
func labOf(after, lasts time.Duration) api.LabSpec {
	spec := api.LabSpec{Owner: "ada@example.org", Duration: api.Duration(lasts.String())}
	spec.Image = "lab:1"
	if after > 0 {
		spec.Start = time.Now().Add(after).UTC().Format(time.RFC3339)
	}
	return spec
}

// order writes what the API writes when a person asks for more time, or for the end.
func (l *harness) order(ref api.Ref, more time.Duration, stoppedBy string) {
	l.Helper()
	l.Write(func(txn *records.Txn) {
		orders := api.LabOrders{OwnerUID: l.Snapshot().Object(ref).Value.Metadata.UID}
		if was := l.Snapshot().LabOrders(ref); was.Exists() {
			orders = *was.Value
		}
		orders.Extended += more
		orders.StoppedBy = stoppedBy
		txn.Put(records.LabKey(ref), orders)
	})
}

func (l *harness) status(ref api.Ref) api.LabStatus {
	l.Helper()
	status := l.Snapshot().LabStatus(ref)
	if !status.Exists() {
		l.Fatalf("%s has no status", ref)
	}
	return *status.Value
}

func (l *harness) phase(ref api.Ref, want api.LabPhase, reason string) {
	l.Helper()
	if s := l.status(ref); s.Phase != want || reason != "" && s.Reason != reason {
		l.Errorf("%s is %s (%s: %s); want %s (%s)", ref, s.Phase, s.Reason, s.Message, want, reason)
	}
}

func (l *harness) condition(ref api.Ref, kind string, want api.ConditionStatus, reason string) {
	l.Helper()
	l.Condition(ref, l.status(ref).Conditions, kind, want, reason)
}

// nothingLeft: no task, no container, and no request of a lab is left.
func (l *harness) nothingLeft(ref api.Ref) {
	l.Helper()
	if tasks := l.Snapshot().TasksOf(ref); len(tasks) > 0 {
		l.Errorf("%s: tasks are left: %+v", ref, tasks[0].Value)
	}
	if l.Snapshot().ImageRequest(ref).Exists() {
		l.Errorf("%s still asks for its image", ref)
	}
	if running := l.Node.Containers(ref); len(running) > 0 {
		l.Errorf("%s: containers are left: %v", ref, running)
	}
}

func (l *harness) seen(ref api.Ref, want ...api.LabPhase) {
	l.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.moves[ref], want) {
		l.Errorf("%s was seen as %v, want %v", ref, l.moves[ref], want)
	}
}

// dirty returns what a pass over all labs finds.
func (l *harness) dirty() (names []string) {
	for _, key := range controller(l.Deps(), Options{}).Dirty(time.Now()) {
		names = append(names, key.String())
	}
	return names
}
