package link

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/puller"
)

// beginAgain is the wait of a puller that could not start.
const beginAgain = time.Second

// session is a puller for one control plane and one credential.
type session struct {
	puller *puller.Puller
	link   Link
	uid    string
	secret *store
	trips  *trips
	cancel context.CancelFunc
	// over is set once the session has ended: because it was cancelled, or because the control plane permanently
	// refuses it.
	over   bool
	health *puller.Health
	// back holds a token if the control plane is back, or lacks events.
	back chan struct{}
}

// serves reports whether a session fulfils a request. A credential that this process didn't store needs a new session;
// a refused one is not tried again.
func (s *session) serves(w Wanted) bool {
	return w.Run && s.link == w.Link && s.uid == string(w.UID) && s.secret.knows(w.Token)
}

// begin starts a session. The caller holds mu.
func (c *Connection) begin(w Wanted) {
	ctx, cancel := context.WithCancel(c.ctx)
	s := &session{
		link: w.Link, uid: string(w.UID), cancel: cancel, secret: c.store(w, false), trips: &trips{now: c.Now},
		back: make(chan struct{}, 1),
	}
	http, err := newHTTP(w.Link, s.trips)
	if err != nil {
		cancel()
		s.over, s.health = true, &puller.Health{Authenticated: true, Reason: err.Error()}
		s.secret.learn(w.Token, time.Time{})
		c.session = s
		c.Notify()
		return
	}
	s.puller = c.newPuller(w, s.secret, http, func(h puller.Health) { c.setHealth(s, h) }, s.lacks)
	s.back <- struct{}{}
	c.session = s
	c.parts.Go(func() {
		defer http.CloseIdleConnections()
		defer cancel()
		c.run(ctx, s)
		c.mu.Lock()
		s.over = true
		if c.session == s && ctx.Err() != nil {
			c.session = nil
		}
		c.mu.Unlock()
		c.Notify()
	})
	c.parts.Go(func() { c.report(ctx, s) })
}

// run runs the puller until ctx ends or the control plane refuses it.
func (c *Connection) run(ctx context.Context, s *session) {
	for {
		err := s.puller.Run(ctx)
		if ctx.Err() != nil {
			return
		}
		c.Log.WarnContext(ctx, "the agent has ended", "error", err)
		if errors.Is(err, puller.ErrUnauthorized) || errors.Is(err, puller.ErrForbidden) {
			return
		}
		select {
		case <-time.After(beginAgain):
		case <-ctx.Done():
			return
		}
	}
}

// setHealth stores the connection state that the puller reports.
func (c *Connection) setHealth(s *session, h puller.Health) {
	c.mu.Lock()
	returned := h.Connected && s.health != nil && !s.health.Connected
	s.health = &h
	c.mu.Unlock()
	if returned {
		s.lacks()
	}
	c.Notify()
}

// lacks reports everything again that the control plane may have missed.
func (s *session) lacks() {
	select {
	case s.back <- struct{}{}:
	default:
	}
}

// report sends a snapshot at the start of the session, and each time the control plane is back.
func (c *Connection) report(ctx context.Context, s *session) {
	for {
		select {
		case <-s.back:
		case <-ctx.Done():
			return
		}
		if err := c.snapshot(ctx, s.puller); err != nil && ctx.Err() == nil {
			c.Log.WarnContext(ctx, "the state of the cluster could not be reported", "error", err)
		}
		s.puller.Resync()
	}
}

// snapshot sends all conditions of all objects of the control plane, in one event per object.
func (c *Connection) snapshot(ctx context.Context, to *puller.Puller) error {
	instances := &unstructured.UnstructuredList{}
	instances.SetGroupVersionKind(kindInstance)
	if err := c.Client.List(ctx, instances); err != nil {
		return err
	}
	var operations opsv1alpha1.OperationList
	if err := c.Client.List(ctx, &operations); err != nil {
		return err
	}
	var all []client.Object
	for i := range instances.Items {
		all = append(all, &instances.Items[i])
	}
	for i := range operations.Items {
		all = append(all, &operations.Items[i])
	}
	for _, object := range all {
		seen := observationOf(object)
		if !isReported(object) || len(seen.Conditions) == 0 {
			continue
		}
		if err := to.WaitForRoom(ctx); err != nil { // a snapshot must not displace newer events
			return err
		}
		to.Emit(pull.Event{
			Kind: pull.EventConditionTransition, ResourceRef: seen.Resource, Conditions: seen.Conditions,
			Inventory: seen.Inventory, History: seen.History, Timestamp: c.Now().UTC(),
		})
	}
	return nil
}

// newPuller returns a puller that doesn't run yet.
func (c *Connection) newPuller(
	w Wanted, secret *store, http httpClient, health func(puller.Health), lacks func(),
) *puller.Puller {
	asked := &asked{Cluster: w.Link.ClusterID, Keys: w.Link.Trust.JobKeys, Now: c.Now, Read: c.Query}
	return puller.New(puller.Options{
		Endpoint: w.Link.Endpoint, HTTP: http, Credentials: secret, Wait: c.Wait, Health: health, UserAgent: c.UserAgent,
		Now: c.Now, Logger: c.Log,
		Query: asked.Answer, Taken: c.Taken, Finished: c.Finished, Overflowed: lacks,
		Verify:  (&verifier{Live: c.Live, Cluster: w.Link.ClusterID, Keys: w.Link.Trust.JobKeys}).Verify,
		Applier: &applier{Client: c.Client, Live: c.Live, ClusterID: w.Link.ClusterID},
		Keys: puller.NewKeys(&appliedJobs{
			Client: c.Client, Live: c.Live, Namespace: c.Secret.Namespace, ClusterID: w.Link.ClusterID,
		}, c.Now),
	})
}

// store returns the store of a Cluster's credentials.
func (c *Connection) store(w Wanted, registers bool) *store {
	return &store{
		Client: c.Client, Live: c.Live, Key: c.Secret, Cluster: w.Cluster, UID: w.UID, Link: w.Link, Exchange: w.Exchange,
		registers: registers, now: c.Now,
	}
}
