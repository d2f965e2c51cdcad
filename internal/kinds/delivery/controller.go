package delivery

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/calls"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// The outcomes passed to Deps.Count.
const (
	CountDelivered = "delivered"
	CountFailed    = "failed"
	CountRetried   = "retried"
)

// Deps are the dependencies of the controller.
type Deps struct {
	control.Deps
	// Call makes one attempt. It returns when its context ends.
	Call func(ctx context.Context, r webhook.Request) webhook.Answer
	// Blob reads the content of an asset by its digest.
	Blob func(digest string) ([]byte, error)
	// Count is called with the outcome of each attempt. Default: no call.
	Count func(outcome string)
	// Agent is the User-Agent. Default tend-webhook.
	Agent string
	// Spread draws the position of the next attempt within the jitter, from 0 to 1. Default random.
	Spread func() float64
}

// Controller delivers webhook calls.
type Controller struct {
	Deps
	calls        *calls.Calls[webhook.Answer]
	environments *environment.Environments
}

// New returns a controller. Calls are made only while its Source runs.
func New(deps Deps) *Controller {
	deps.Deps = deps.Defaults()
	if deps.Count == nil {
		deps.Count = func(string) {}
	}
	if deps.Spread == nil {
		deps.Spread = rand.Float64
	}
	if deps.Agent == "" {
		deps.Agent = "tend-webhook"
	}
	failed := func(err error) webhook.Answer { return webhook.Answer{Err: err} }
	return &Controller{Deps: deps, calls: calls.New(webhook.AttemptTime, failed),
		environments: environment.New(deps.Sealer)}
}

// Name implements control.Controller.
func (c *Controller) Name() string { return kind }

// Workers returns how many deliveries are reconciled at once; the calls themselves are made outside of the workers.
func (c *Controller) Workers() int { return 2 }

// Source implements control.Source: it enqueues the keys of calls that have ended. When ctx ends it cancels the calls
// under way and waits for them. A cancelled call has no outcome: the next server makes it again.
func (c *Controller) Source(ctx context.Context, enqueue func(keys ...engine.Key)) error {
	return c.calls.Run(ctx, enqueue)
}

const kind = "delivery"

// Key returns the engine's key of a delivery. Its name is <kind>/<name>/<id>.
func Key(d *api.Delivery) engine.Key {
	return engine.Key{Kind: kind, Scope: d.Scope, Name: string(d.Kind) + "/" + d.Name + "/" + d.ID}
}

func parse(key engine.Key) (ref api.Ref, id string, ok bool) {
	parts := strings.SplitN(key.Name, "/", 3)
	if len(parts) != 3 {
		return ref, "", false
	}
	return api.Ref{Kind: api.Kind(parts[0]), Scope: key.Scope, Name: parts[1]}, parts[2], true
}

// Reconcile takes the next step of one delivery.
func (c *Controller) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	ref, id, ok := parse(key)
	if !ok {
		return engine.Result{}, nil
	}
	snapshot, now := c.Snapshot(), c.Now()
	read := snapshot.Delivery(ref, id)
	call := calls.ID{Key: key, Created: read.Created}
	if read.Exists() {
		call.Attempt = read.Value.Attempts
	}
	c.calls.ForgetOthers(call)
	if !read.Exists() {
		return engine.Result{}, nil
	}
	d := *read.Value
	switch answer, ended := c.calls.Answer(call); {
	case ended:
		return c.record(ctx, call, read, webhook.Next(d, answer, now, c.Spread()))
	case d.State != api.DeliveryPending && forgettable(d, now):
		return c.forget(ctx, read)
	case d.State != api.DeliveryPending || c.calls.Running(call):
		return engine.Result{}, nil
	case webhook.Rests(d, now) > 0:
		return engine.Result{After: webhook.Rests(d, now)}, nil
	case d.Attempts == 0 && now.Sub(d.CreatedAt) > webhook.Stale:
		return c.record(ctx, call, read, webhook.GiveUp(d, "it could not be delivered within "+webhook.Stale.String(),
			now))
	}
	request, err := c.request(snapshot, d)
	if err != nil {
		return c.record(ctx, call, read, webhook.GiveUp(d, err.Error(), now))
	}
	c.calls.Begin(call, request.Host(), func(ctx context.Context) webhook.Answer { return c.Call(ctx, request) })
	return engine.Result{}, nil
}

func forgettable(d api.Delivery, now time.Time) bool {
	return d.State != api.DeliveryPending && now.Sub(d.EndedAt) >= webhook.Kept
}

// record writes the delivery's next state, and only then forgets the answer.
func (c *Controller) record(ctx context.Context, call calls.ID, read records.Read[api.Delivery],
	next api.Delivery) (engine.Result, error) {
	at := records.DeliveryKey(next.Owner(), next.ID)
	revision, err := c.Commit(ctx, records.NewTxn("delivery.record").If(at, read.Modified).Put(at, next), at)
	if err != nil {
		return engine.Result{}, err
	}
	c.calls.Forget(call)
	c.count(next)
	if next.State == api.DeliveryPending {
		return engine.Result{Revision: revision, After: max(next.NextTryAt.Sub(c.Now()), time.Millisecond)}, nil
	}
	return engine.Result{Revision: revision}, nil
}

func (c *Controller) count(d api.Delivery) {
	log := c.Logger.With("object", d.Owner().String(), "hook", d.Hook, "delivery", d.ID, "attempts", d.Attempts)
	switch d.State {
	case api.DeliveryDelivered:
		c.Count(CountDelivered)
		log.Info("webhook delivered", "status", d.StatusCode)
	case api.DeliveryFailed:
		c.Count(CountFailed)
		log.Warn("webhook failed", "error", d.Error)
	default:
		c.Count(CountRetried)
		log.Debug("webhook is tried again", "error", d.Error, "next", d.NextTryAt)
	}
}

func (c *Controller) forget(ctx context.Context, read records.Read[api.Delivery]) (engine.Result, error) {
	at := records.DeliveryKey(read.Value.Owner(), read.Value.ID)
	revision, err := c.Commit(ctx, records.NewTxn("delivery.forget").If(at, read.Modified).Delete(at), at)
	return engine.Result{Revision: revision}, err
}

// Affected returns the key of the delivery that changed.
func (c *Controller) Affected(_ records.Snapshot, change view.Change) []engine.Key {
	if d, ok := change.New.(*api.Delivery); ok {
		return []engine.Key{Key(d)}
	}
	return nil
}

// Keys returns the keys of all deliveries.
func (c *Controller) Keys() []engine.Key {
	var out []engine.Key
	for record := range c.Snapshot().Prefix(records.DeliveriesPrefix) {
		if d, ok := record.Value.(*api.Delivery); ok {
			out = append(out, Key(d))
		}
	}
	return out
}

// Dirty returns the keys of the deliveries that are due.
func (c *Controller) Dirty(now time.Time) []engine.Key {
	s := c.Snapshot()
	return control.Due(c.Keys(), func(key engine.Key) bool {
		ref, id, _ := parse(key)
		read := s.Delivery(ref, id)
		switch d := read.Value; {
		case d == nil:
			return false
		case d.State == api.DeliveryPending:
			return webhook.Rests(*d, now) == 0 && !c.calls.Running(calls.ID{Key: key, Created: read.Created,
				Attempt: d.Attempts})
		default:
			return forgettable(*d, now)
		}
	})
}
