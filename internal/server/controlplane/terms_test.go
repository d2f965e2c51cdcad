package controlplane_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/kinds/autoscaler"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// plainly leaves values in plain text.
type plainly struct{}

func (plainly) Encrypt(plain []byte) ([]byte, error)  { return plain, nil }
func (plainly) Decrypt(sealed []byte) ([]byte, error) { return sealed, nil }
func (plainly) HMAC(data []byte) string               { return fmt.Sprintf("%x", data) }

// server is one of two servers of a store, each with its own view.
type server struct {
	*rivals
	store.Store
	plane *controlplane.Plane
}

// rivals is a world of two servers and a node.
type rivals struct {
	t      *testing.T
	store  *memory.Store
	engine *hollow.Engine

	mu sync.Mutex
	// holder is the server that began the newest term, at the revision took; wrote counts the commits of controllers by
	// server.
	holder *server
	took   int64
	wrote  map[*server]int
	// strike is the number of controllers' commits that pass before the other server takes over in the middle of the next
	// one: before it reaches the store, or before its answer returns. Negative means never.
	strike int
	before bool
	struck chan struct{}
}

// Commit implements the controllers' store. The oracle knows from outside who holds the election, and that a successful
// commit was the holder's.
func (s *server) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	hit, before := s.turn(txn)
	if hit && before {
		s.strikeNow()
	}
	revision, err := s.Store.Commit(ctx, txn)
	if hit && !before {
		s.strikeNow()
	}
	if err == nil {
		s.check(txn, revision)
	}
	return revision, err
}

func (r *rivals) turn(txn store.Txn) (hit, before bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if txn.Site == "election" || txn.Site == "election.settle" || r.strike < 0 {
		return false, false
	}
	r.strike--
	return r.strike < 0, r.before
}

// strikeNow lets the other server take over, and waits until its claim is stored.
func (s *server) strikeNow() {
	s.struck <- struct{}{}
	<-s.struck
}

// check asserts that the server held the election at a commit, or that the commit came before the other server's claim.
func (s *server) check(txn store.Txn, revision int64) {
	if txn.Site == "election" || txn.Site == "election.settle" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote[s]++
	if s.holder != s && revision > s.took {
		s.t.Errorf("%s was written at %d by a server that lost the controllers at %d", txn.Site, revision, s.took)
	}
}

func (r *rivals) newServer(running *sync.WaitGroup, ctx context.Context) *server {
	s := &server{rivals: r, Store: r.store}
	v := view.New(r.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	s.plane = controlplane.New(controlplane.Options{
		View: v, Sealer: plainly{}, NodeTimeout: 30 * time.Second, Resync: 10 * time.Second,
		Logger:         slog.New(slog.DiscardHandler),
		ReplicasHolder: func(api.Object) string { return "" },
		Effects: controlplane.Effects{
			Call: func(context.Context, webhook.Request) webhook.Answer { return webhook.Answer{} },
			Blob: func(string) ([]byte, error) { return nil, errors.New("none") },
			Load: func(_ context.Context, tasks []string) []autoscaler.Sample {
				return make([]autoscaler.Sample, len(tasks))
			},
			Scale:     func(context.Context, records.Committer, autoscaler.Deployment, int) error { return nil },
			Delivered: func(string) {}, Scaled: func(string) {},
		},
	})
	running.Go(func() { _ = v.Run(ctx) })
	return s
}

// node runs the agent of the one node.
func (r *rivals) node(running *sync.WaitGroup, ctx context.Context) {
	v := view.New(r.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	service := local.New(local.Options{Store: r.store, View: v, Keys: plainly{}})
	a := agent.New(agent.Options{
		Node: "n1", Control: service.Node("n1"), Runtime: r.engine.Client("c0ffee", "n1"),
		Logger: slog.New(slog.DiscardHandler),
	})
	running.Go(func() { _ = v.Run(ctx) })
	running.Go(func() { _ = a.Run(ctx) })
}

// apply stores the n-th version of a deployment.
func (r *rivals) apply(name string, n int64) {
	r.t.Helper()
	ref := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: name}
	object := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
		Metadata: api.Metadata{UID: "u-" + name, Generation: n},
		Spec:     []byte(fmt.Sprintf(`{"image":"web:%d","replicas":2,"strategy":{"pause":"1s","monitor":"1s"}}`, n/3%3+1))}
	if _, err := records.NewTxn("apply").Put(records.ObjectKey(ref), object).Commit(context.Background(),
		r.store); err != nil {
		r.t.Fatal(err)
	}
}

// TestTwoHundredTerms: two servers take the controllers from each other, in the middle of commits, while deployments
// change. No commit of a server succeeds outside of its term, each term ends by itself and leaves nothing behind, and
// in the end the declared state runs.
func TestTwoHundredTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewSource(1))
		r := &rivals{t: t, store: memory.New(), engine: hollow.NewEngine(), wrote: map[*server]int{}, strike: -1,
			struck: make(chan struct{})}
		for i := range 3 {
			r.engine.AddImage(fmt.Sprintf("web:%d", i+1))
		}
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		servers := []*server{r.newServer(&running, ctx), r.newServer(&running, ctx)}
		r.node(&running, ctx)
		synctest.Wait()
		before := runtime.NumGoroutine()
		terms, endTerms := context.WithCancel(ctx)
		var ended chan error
		var midway, last int
		var held bool // a commit of the last round waits in its middle
		for round := range 200 {
			next := servers[round%2]
			term, err := controlplane.Begin(ctx, next)
			if err != nil {
				t.Fatal(err)
			}
			r.mu.Lock()
			r.holder, r.took = next, term.Revision()
			r.mu.Unlock()
			if held {
				r.struck <- struct{}{}
			}
			if round > 0 && <-ended != nil {
				last = round
			}
			ended = make(chan error, 1)
			go func(ended chan error) {
				err := next.plane.Run(terms, term)
				if !errors.Is(err, controlplane.ErrDeposed) {
					err = nil
				}
				ended <- err
			}(ended)
			r.apply(fmt.Sprintf("web-%d", round%3), int64(round))
			r.arm(random.Intn(5), random.Intn(2) == 0)
			select {
			case <-r.struck:
				midway++
				held = true
			case <-time.After(20 * time.Second):
				held = false
			}
			r.arm(-1, false)
			synctest.Wait()
			select { // a commit that came at the very end of the wait
			case <-r.struck:
				midway++
				held = true
			default:
			}
		}
		if last != 199 {
			t.Errorf("the term before round %d ended by itself, not deposed", last+1)
		}
		if midway < 100 {
			t.Errorf("%d terms ended in the middle of a commit: the test proves little", midway)
		}
		if held {
			r.struck <- struct{}{}
		}
		time.Sleep(5 * time.Minute) // the bubble's
		synctest.Wait()
		r.converged()
		for i, s := range servers {
			if r.wrote[s] == 0 {
				t.Errorf("server %d wrote nothing", i)
			}
		}
		t.Logf("%d terms ended in the middle of a commit; commits: %d and %d", midway, r.wrote[servers[0]],
			r.wrote[servers[1]])
		endTerms()
		<-ended
		synctest.Wait()
		if after := runtime.NumGoroutine(); after > before+50 {
			t.Errorf("%d goroutines before the first term and %d after the last: terms leave some behind", before,
				after)
		}
		cancel()
		running.Wait()
		r.engine.Close()
		_ = r.store.Close()
	})
}

func (r *rivals) arm(after int, before bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.strike, r.before = after, before
}

// converged compares the containers with what was applied last.
func (r *rivals) converged() {
	r.t.Helper()
	containers, err := r.engine.Client("c0ffee", "n1").List(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	count := map[string]int{}
	for _, c := range containers {
		if c.State == "running" {
			count[c.Labels[api.LabelName]+" "+c.Labels[api.LabelRelease]]++
		}
	}
	if len(count) != 3 {
		r.t.Errorf("three deployments run one release each: %v", count)
	}
	for release, n := range count {
		if n != 2 {
			r.t.Errorf("%d containers of %s, 2 are declared", n, release)
		}
	}
}
