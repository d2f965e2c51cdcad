package link

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
	"tend.dev/tend/internal/operator/puller"
)

// Connection does what Decide requests, in its own goroutines: it exchanges tokens and runs the puller. All fields but
// Wait, Log, Taken, Finished and UserAgent are required.
type Connection struct {
	// Client writes, and reads from the cache. Live reads from the API server.
	Client client.Client
	Live   client.Reader
	Cache  cache.Cache
	// Secret names the Secret with the credentials.
	Secret client.ObjectKey
	// Wait is the time that a request for jobs waits for one to appear. Default: the protocol's.
	Wait time.Duration
	// UserAgent is the User-Agent of requests.
	UserAgent string
	// Taken is called with each acknowledged job, Finished with the outcome of each job whose result was sent. Default:
	// not called.
	Taken    func(job pull.Job)
	Finished func(job pull.Job, outcome string)
	// Query answers a query of the control plane. Default: no query is answered.
	Query func(ctx context.Context, query pull.Query) pull.Answer
	// Notify is called after State has changed. It must not block.
	Notify func()
	Now    func() time.Time
	Log    *slog.Logger

	mu sync.Mutex
	// ctx is the context of Start; nil before.
	ctx     context.Context
	parts   sync.WaitGroup
	session *session
	// wanted is the last request. ends belong to its Cluster.
	wanted     Wanted
	exchanging bool
	ends       map[ExchangeKind]Outcome
	// beat is the time of the last heartbeat.
	beat time.Time
}

var _ manager.LeaderElectionRunnable = (*Connection)(nil)

// NeedLeaderElection makes only the elected operator poll.
func (*Connection) NeedLeaderElection() bool { return true }

// Start runs the connection until ctx ends. It waits for the puller's last events.
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

// settle waits for a Want in progress. Afterwards nothing new starts.
func (c *Connection) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = Wanted{}
}

// Want sets what the connection should do. It returns at once; Notify reports each end.
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
			return // Notify reports its end
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

// State returns the state of the connection.
func (c *Connection) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := State{Busy: c.exchanging, Exchanges: maps.Clone(c.ends)}
	if s := c.session; s != nil {
		state.Busy = state.Busy || !s.over
		state.Health, state.RoundTrip = s.health, s.trips.last()
		if s.puller != nil {
			_, state.Dropped = s.puller.Buffered()
		}
	}
	return state
}

// current returns the running puller, or nil.
func (c *Connection) current() *puller.Puller {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil || c.session.over {
		return nil
	}
	return c.session.puller
}

// Heartbeat sends the conditions of the Cluster if they have changed, or if a minute has passed.
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
	c.session.puller.Emit(event)
}

func clusterRef(id string) api.ClusterResource {
	return api.ClusterResource{APIVersion: opsv1alpha1.GroupVersion.String(), Kind: kindCluster, Name: id}
}
