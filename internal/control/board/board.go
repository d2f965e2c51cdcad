package board

import (
	"iter"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Board keeps the placement's ledger up to date with snapshots, which only go forward: who asks with an older one hears
// of the newest. New returns one that has seen no snapshot.
type Board struct {
	demands *demands
	// alone is when the server was started if it is alone; else zero.
	alone time.Time

	mu       sync.Mutex
	snapshot records.Snapshot // that the ledger is of; zero before the first
	ledger   *placement.Ledger
	// nodes is the revision that brought the newest change of the ledger's nodes.
	nodes int64
	// decision is the decision of the ledger's newest plan; nil after a change.
	decision *decision
	// placed is the revision of records.PlacingKey by which Place has placed last: a second step would lose the race.
	placed int64
}

// New returns a board that has seen no snapshot, of a server beside others.
func New() *Board { return NewOf(time.Time{}) }

// NewOf is New of a server that is alone, and was started at a time; zero is New.
func NewOf(alone time.Time) *Board { return &Board{demands: newDemands(), alone: alone, placed: -1} }

// decision holds the nodes of tasks, and the reasons why the other tasks fit on none, by task id. It is shared: don't
// modify it.
type decision struct {
	assigned []placement.Assignment
	refused  map[string]placement.Refusal
}

// at calls use with the ledger, and the snapshot that it is of: a given one as it is stored, or a newer one. use must
// keep nothing of the ledger. After a panic, which may leave the ledger half changed, the next call reads all again.
func (b *Board) at(s records.Snapshot, use func(s records.Snapshot, l *placement.Ledger)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	done := false
	defer func() {
		if !done {
			b.ledger = nil
		}
	}()
	b.update(s.Plain())
	use(b.snapshot, b.ledger)
	done = true
}

// onNodes notes that what a snapshot is read for depends on the ledger's nodes.
func (b *Board) onNodes(s records.Snapshot) {
	at := func(s records.Snapshot) any {
		var nodes int64
		b.at(s, func(records.Snapshot, *placement.Ledger) { nodes = b.nodes })
		return nodes
	}
	s.Kept(at(s), at)
}

// plan returns the decision, and the snapshot that it is of.
func (b *Board) plan(s records.Snapshot) (of records.Snapshot, d decision) {
	b.at(s, func(s records.Snapshot, _ *placement.Ledger) { of, d = s, b.decide() })
	return of, d
}

// decide returns the decision of the ledger as it is.
func (b *Board) decide() decision {
	if b.decision == nil {
		placed, refused := b.ledger.Plan()
		b.decision = &decision{assigned: placed, refused: make(map[string]placement.Refusal, len(refused))}
		for _, r := range refused {
			b.decision.refused[r.Task] = r
		}
	}
	return *b.decision
}

func (b *Board) update(s records.Snapshot) {
	if b.ledger != nil && s.Revision() <= b.snapshot.Revision() {
		return
	}
	stale := stale{}
	var changes iter.Seq[view.Change]
	known := false
	if b.ledger != nil {
		changes, known = s.Since(b.snapshot.Revision())
	}
	if !known {
		b.ledger = placement.NewLedger()
		stale.all(s)
	} else {
		for change := range changes {
			stale.note(s, change)
		}
		stale.successors(s)
	}
	b.snapshot = s
	if !known || len(stale.nodes) > 0 {
		b.nodes = s.Revision()
	}
	if stale.homes {
		b.ledger.SetHomes(s.Homes())
	}
	for id := range stale.nodes {
		if status := s.Node(id); status.Exists() {
			b.ledger.PutNode(b.node(s, status.Value))
		} else {
			b.ledger.RemoveNode(id)
		}
	}
	for id := range stale.tasks {
		if task, holds := b.read(s, id); holds {
			b.ledger.PutTask(task)
		} else {
			b.ledger.RemoveTask(id)
		}
	}
	if stale.homes || len(stale.nodes)+len(stale.tasks) > 0 {
		b.decision = nil
	}
}

// stale names the parts of a ledger that have to be read again.
type stale struct {
	nodes, tasks map[string]bool
	slots        map[api.Ref]map[string]bool
	homes        bool
}

func (o *stale) all(s records.Snapshot) {
	o.homes = true
	for _, status := range s.Nodes() {
		add(&o.nodes, status.Value.ID)
	}
	for _, task := range s.Tasks() {
		add(&o.tasks, task.Value.ID)
	}
}

// note notes what a change makes stale. Most are reports of agents which change nothing here.
func (o *stale) note(s records.Snapshot, change view.Change) {
	for _, value := range []any{change.Old, change.New} {
		switch record := value.(type) {
		case *api.Task:
			add(&o.tasks, record.ID)
		case *api.TaskStatus:
			if before, was := change.Old.(*api.TaskStatus); !was || change.New == nil ||
				before.State.Terminal() != record.State.Terminal() {
				add(&o.tasks, record.ID)
			}
		case *api.Object:
			o.object(s, record.Ref())
		case *api.Moves:
			ref, _, _ := records.ParseRef(strings.TrimPrefix(change.Key, records.MovesPrefix))
			o.tasksOf(s, ref)
		case *api.NodeStatus:
			add(&o.nodes, record.ID)
		case *api.ServerPresence: // which hears some of the nodes, or did
			for _, node := range s.Nodes() {
				add(&o.nodes, node.Value.ID)
			}
		}
	}
	switch key := change.Key; {
	case strings.HasPrefix(key, records.AlivePrefix):
		add(&o.nodes, strings.TrimPrefix(key, records.AlivePrefix))
	case strings.HasPrefix(key, records.LossesPrefix):
		add(&o.nodes, strings.TrimPrefix(key, records.LossesPrefix))
	case strings.HasPrefix(key, records.HomesPrefix):
		o.homes = true
	case strings.HasPrefix(key, records.SlotsPrefix):
		if ref, slot, ok := records.ParseRef(strings.TrimPrefix(key, records.SlotsPrefix)); ok {
			o.slot(ref, slot)
		}
	}
}

// object notes what is read of an object: labels and availability of a node, or the rules of a workload.
func (o *stale) object(s records.Snapshot, ref api.Ref) {
	switch {
	case ref.Kind == api.KindNode:
		add(&o.nodes, ref.Name)
	case ref.Kind.HasContainers():
		o.tasksOf(s, ref)
	}
}

func (o *stale) tasksOf(s records.Snapshot, ref api.Ref) {
	for _, task := range s.TasksOf(ref) {
		add(&o.tasks, task.Value.ID)
	}
}

func (o *stale) slot(ref api.Ref, slot string) {
	if o.slots == nil {
		o.slots = map[api.Ref]map[string]bool{}
	}
	of := o.slots[ref]
	add(&of, slot)
	o.slots[ref] = of
}

// successors notes the tasks that take over a slot that another task fills now, or none.
func (o *stale) successors(s records.Snapshot) {
	for ref, slots := range o.slots {
		for _, task := range s.TasksOf(ref) {
			if slots[task.Value.Replaces] {
				add(&o.tasks, task.Value.ID)
			}
		}
	}
}

func add(set *map[string]bool, id string) {
	if *set == nil {
		*set = map[string]bool{}
	}
	(*set)[id] = true
}
