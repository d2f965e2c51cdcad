package owner

import (
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/liveness"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// defaultTimeout bounds the silence of a node if nothing else is set.
const defaultTimeout = 30 * time.Second

// electionTime bounds how much longer than usual a heartbeat lasts when the store elects a leader: the election, the
// renewal by the new leader, and the delay until expired leases end.
const electionTime = 5 * time.Second

// leastGather is left until the judgement at least if gather allows it: heartbeats that end together do so in several
// commits.
const leastGather = 2 * time.Second

// untilCurrent is the time to the next look at a node while the view is behind the claim of the term.
const untilCurrent = 100 * time.Millisecond

// Liveness records since when each node has had no heartbeat. All controllers of a term share one, so that they agree
// on which nodes are lost. A node whose heartbeat ends within the term counts as silent from its last one on, also if
// that was before the term; so does one whose heartbeat this server saw end while it followed another one. For any
// other heartbeat that had ended by then the server waits a whole timeout, because it can't know how long it had been
// missing, or whether the node had a server to send it to; except that a node that was lost in an earlier term, and has
// not returned, still is.
type Liveness struct {
	Nodes Nodes
	// FormerLeader returns the latest time at which a former leader of the store can have taken a heartbeat; see
	// local.Options. Default: the store can't say, and a heartbeat counts from the term's begin on at the earliest.
	FormerLeader    func() time.Time
	tasks           taskSets
	timeout, gather time.Duration
	now             func() time.Time

	mu       sync.Mutex
	written  map[string]time.Time // when each node last wrote its heartbeat; renewals don't count
	revision int64                // of the newest snapshot that was read
	nodes    int
	silent   map[string]time.Time
	known    map[string]bool // those of them that were lost in an earlier term
	began    time.Time       // of the term; zero before the first one
	term     int64           // the revision of its claim
	follows  bool            // since Follow no term has begun
	verdict  liveness.Verdict
	judged   time.Time // when; zero after a change
	next     time.Time // when time alone changes the verdict; zero is never
}

// NewLiveness returns a Liveness that has seen no node yet. The default of timeout is 30 s. A heartbeat that was seen
// to end did so gather before the end of the timeout. The default of now is time.Now, whose monotonic clock goes on
// when the wall clock is set: a change of the wall clock makes no node lost.
func NewLiveness(timeout, gather time.Duration, now func() time.Time) *Liveness {
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	if now == nil {
		now = time.Now
	}
	if gather <= 0 || gather > timeout {
		gather = timeout
	}
	return &Liveness{timeout: timeout, gather: gather, now: now, silent: map[string]time.Time{},
		known: map[string]bool{}, written: map[string]time.Time{}}
}

// Follow begins a time in which other servers may lead, and this one sees heartbeats end as they do; it ends when the
// store gives no answer. It forgets who is silent.
func (l *Liveness) Follow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.silent)
	l.follows, l.judged = true, time.Time{}
}

// Begin begins a new term, which was claimed at a revision. It forgets who is silent, unless this server followed until
// now and the store knows its leaders: without that, the store may have gone on while no server was there.
func (l *Liveness) Begin(revision int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.follows || l.FormerLeader == nil {
		clear(l.silent)
	}
	l.follows = false
	clear(l.known)
	l.revision, l.judged, l.began, l.term = 0, time.Time{}, l.now(), revision
}

// Notice takes note of a node's heartbeat that begins or ends. Without it, a heartbeat between two lapses that no
// reconcile saw would count as part of one long lapse.
func (l *Liveness) Notice(change view.Change) {
	node, ok := strings.CutPrefix(change.Key, records.AlivePrefix)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark(node, !change.Deleted)
	if !change.Deleted {
		if records.HeartbeatOf(change.New).Beats() { // else the server writes that the node is silent
			l.written[node] = l.now()
		}
		return
	}
	last := l.lastHeartbeat(node)
	delete(l.written, node)
	// Without word of former leaders, the store may have gone on while no server was there. After the view has listed
	// again, the revision is the listing's: a heartbeat that had ended before the term then passes as one of the term.
	if (l.FormerLeader == nil || change.Revision < l.term) && last.Before(l.began) {
		last = l.began // nodes whose server is gone may still be about to find another one
	}
	if last.Before(l.silent[node]) {
		l.silent[node], l.judged = last, time.Time{}
	}
}

// lastHeartbeat returns when the last heartbeat was that a node can have sent, as the heartbeat ends. A new leader of
// the store renews all heartbeats; a node that answers writes its own again then.
func (l *Liveness) lastHeartbeat(node string) time.Time {
	last := l.now().Add(l.gather - l.timeout) // when its last heartbeat was
	if l.FormerLeader == nil {
		return last
	}
	former := l.FormerLeader()
	if gone := last.Sub(former); gone > 0 && gone < electionTime && !l.written[node].After(former) {
		if latest := l.now().Add(min(l.gather, leastGather) - l.timeout); former.Before(latest) {
			return latest
		}
		return former
	}
	return last
}

// Absence holds what is known of a node's heartbeat. The zero value is that of a node that answers.
type Absence struct {
	// Lost is set once the node has been silent for the whole timeout; until then, Left says how long that takes.
	Lost bool
	Left time.Duration
	// Together counts the nodes that went silent with a lost one, if so many did that what they run is not replaced.
	Together int
}

// Of returns the absence of a node. The empty name stands for no node.
func (l *Liveness) Of(s records.Snapshot, node string) Absence {
	if node == "" || s.Alive(node) {
		return Absence{}
	}
	s.Fleeting()
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.Revision() < l.term {
		return Absence{Left: untilCurrent} // it may have answered since
	}
	l.read(s)
	l.mark(node, false) // a task may be on a node whose record is gone
	l.judge()
	return Absence{Lost: l.verdict.Lost[node], Left: l.left(node), Together: l.verdict.Held[node]}
}

// Timeout returns how long a node may be silent.
func (l *Liveness) Timeout() time.Duration { return l.timeout }

// read brings the marks up to a snapshot, unless a newer one was read.
func (l *Liveness) read(s records.Snapshot) {
	if l.revision != 0 && s.Revision() <= l.revision {
		return
	}
	nodes, first := s.Nodes(), l.revision == 0
	if l.revision = s.Revision(); l.nodes != len(nodes) {
		l.nodes, l.judged = len(nodes), time.Time{}
	}
	for _, node := range nodes {
		if l.mark(node.Value.ID, s.Alive(node.Value.ID)); first {
			l.remember(node.Value.ID, s.Losses(node.Value.ID))
		}
	}
}

// remember lets a term begin where the one before it was: a node that was lost by then is lost, and didn't go with
// those that this term sees go.
func (l *Liveness) remember(node string, losses records.Read[api.NodeLosses]) {
	if _, silent := l.silent[node]; !silent || !losses.Exists() || !losses.Value.Lost {
		return
	}
	l.known[node], l.judged = true, time.Time{}
}

func (l *Liveness) mark(node string, alive bool) {
	_, marked := l.silent[node]
	switch {
	case alive && marked:
		delete(l.silent, node)
		delete(l.known, node)
	case !alive && !marked:
		l.silent[node] = l.now()
	default:
		return
	}
	l.judged = time.Time{}
}

// judge renews the verdict if marks or time have changed it.
func (l *Liveness) judge() {
	now := l.now()
	if !l.judged.IsZero() && (l.next.IsZero() || now.Before(l.next)) {
		return
	}
	l.verdict = liveness.Judge(liveness.Input{Nodes: l.nodes, Silent: l.silent, Known: l.known, Timeout: l.timeout},
		now)
	l.judged, l.next = now, time.Time{}
	for _, left := range l.verdict.Left {
		if at := now.Add(left); l.next.IsZero() || at.Before(l.next) {
			l.next = at
		}
	}
}

// left returns the time until a silent node is lost; 0 if it is.
func (l *Liveness) left(node string) time.Duration {
	if l.verdict.Lost[node] {
		return 0
	}
	return l.timeout - l.now().Sub(l.silent[node])
}
