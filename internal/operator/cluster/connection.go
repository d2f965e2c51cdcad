package cluster

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"tend.dev/tend/api"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/agent"
)

// Connection does what Decide wants of it, in goroutines of its own: it exchanges tokens, and runs the agent. All fields but Wait,
// Log, Taken, Finished and UserAgent are required.
type Connection struct {
	// Client reads from the cache, and writes. Live reads from the API server.
	Client client.Client
	Live   client.Reader
	Cache  cache.Cache
	// Secret is where the credentials are.
	Secret client.ObjectKey
	// Wait is how long a request for jobs waits for one. Default: the protocol's.
	Wait time.Duration
	// UserAgent is how the operator calls itself.
	UserAgent string
	// Taken is called with each job that was acknowledged, Finished with the outcome of each whose result was sent. Default: nobody counts.
	Taken    func(job pull.Job)
	Finished func(job pull.Job, outcome string)
	// Notify is called when State has changed. It must not wait.
	Notify func()
	Now    func() time.Time
	Log    *slog.Logger

	mu sync.Mutex
	// ctx is that of Start; nil before.
	ctx     context.Context
	parts   sync.WaitGroup
	session *session
	// wanted is what was wanted last; ends are of its Cluster.
	wanted     Wanted
	exchanging bool
	ends       map[ExchangeKind]Outcome
	// beat is when a heartbeat was sent last.
	beat time.Time
}

var _ manager.LeaderElectionRunnable = (*Connection)(nil)

// NeedLeaderElection has one operator at a time poll.
func (*Connection) NeedLeaderElection() bool { return true }

// Start lets the connection work until ctx ends. It waits for the agent's last events.
func (c *Connection) Start(ctx context.Context) error {
	if err := c.watch(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	c.ctx = ctx
	c.mu.Unlock()
	c.Notify()
	<-ctx.Done()
	c.settle()
	c.parts.Wait()
	return nil
}

// settle lets a Want that began before the end finish: what it begins counts, and nothing begins after it.
func (c *Connection) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = Wanted{}
}

// Want says what the connection is to do. It returns at once; whatever ends notifies.
func (c *Connection) Want(w Wanted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil || c.ctx.Err() != nil {
		return
	}
	if w.UID != c.wanted.UID {
		c.ends = nil
	}
	c.wanted = w
	if s := c.session; s != nil && !s.serves(w) {
		s.cancel()
		if !s.over {
			return // its end notifies
		}
		c.session = nil
	}
	if w.Run && c.session == nil {
		c.begin(w)
	}
	if w.Exchange.Kind != "" && !c.exchanging {
		c.exchanging = true
		session := c.session
		c.parts.Go(func() { c.exchange(c.ctx, w, session) })
	}
}

// Release ends a connection whose Cluster is gone.
func (c *Connection) Release(cluster string) {
	c.mu.Lock()
	is := c.wanted.Cluster == cluster
	c.mu.Unlock()
	if is {
		c.Want(Wanted{})
	}
}

// State returns how the connection is.
func (c *Connection) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := State{Busy: c.exchanging, Exchanges: maps.Clone(c.ends)}
	if s := c.session; s != nil {
		state.Busy = state.Busy || !s.over
		state.Health, state.RoundTrip = s.health, s.trips.last()
		if s.agent != nil {
			_, state.Dropped = s.agent.Buffered()
		}
	}
	return state
}

// current returns the agent that runs; nil if none does.
func (c *Connection) current() *agent.Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil || c.session.over {
		return nil
	}
	return c.session.agent
}

// Heartbeat sends the conditions of the Cluster, if they have changed or a minute is over.
func (c *Connection) Heartbeat(conditions []metav1.Condition, changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	if c.session == nil || c.session.over || !changed && now.Sub(c.beat) < heartbeatEvery {
		return
	}
	c.beat = now
	event := pull.Event{Kind: pull.EventHeartbeat, ResourceRef: clusterRef(c.wanted.Link.ClusterID), Timestamp: now.UTC()}
	for _, condition := range conditions {
		event.Conditions = append(event.Conditions, conditionOf(condition, 0))
	}
	c.session.agent.Emit(event)
}

func clusterRef(id string) api.ClusterResource {
	return api.ClusterResource{APIVersion: opsv1alpha1.GroupVersion.String(), Kind: kindCluster, Name: id}
}
