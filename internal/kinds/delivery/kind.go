package delivery

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/store/records"
)

// The outcomes passed to Options.Count.
const (
	CountDelivered = "delivered"
	CountFailed    = "failed"
	CountRetried   = "retried"
)

// Options holds the dependencies of deliveries, besides those of every kind.
type Options struct {
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

const kind = "delivery"

// deliveries decides about deliveries.
type deliveries struct {
	Options
	logger       *slog.Logger
	environments *environment.Environments
}

// answered is the answer to an attempt, and the position of the next one within the jitter; or why none can be made.
type answered struct {
	webhook.Answer
	spread float64
	unmade error
}

// Kind returns the kind whose subjects are deliveries.
func Kind(deps control.Deps, o Options) control.Kind {
	if o.Count == nil {
		o.Count = func(string) {}
	}
	if o.Spread == nil {
		o.Spread = rand.Float64
	}
	o.Agent = cmp.Or(o.Agent, "tend-webhook")
	c := &deliveries{Options: o, logger: deps.Defaults().Logger, environments: environment.New(deps.Sealer)}
	return control.Kind{
		KindInfo: api.KindInfo{Kind: kind}, Keys: all, Step: c.step, Workers: 2,
		Reads: []control.Input{control.Records(func(_ records.Snapshot, _ string, d *api.Delivery) []api.Ref {
			return []api.Ref{Ref(d)}
		})},
		Call: func(ctx context.Context, _ records.Read[api.Object], call control.Call) any {
			request, err := c.request(call.Request.(prepared))
			if err != nil {
				return answered{unmade: err}
			}
			return answered{Answer: c.Call(ctx, request), spread: c.Spread()}
		},
		Failed: func(err error) any { return answered{Answer: webhook.Answer{Err: err}} },
	}
}

// Ref names a delivery. Its name is <kind>/<name>/<id>.
func Ref(d *api.Delivery) api.Ref {
	return api.Ref{Kind: kind, Scope: d.Scope, Name: string(d.Kind) + "/" + d.Name + "/" + d.ID}
}

func find(s records.Snapshot, ref api.Ref) records.Read[api.Delivery] {
	parts := strings.SplitN(ref.Name, "/", 3)
	if len(parts) != 3 {
		return records.Read[api.Delivery]{}
	}
	return s.Delivery(api.Ref{Kind: api.Kind(parts[0]), Scope: ref.Scope, Name: parts[1]}, parts[2])
}

func all(s records.Snapshot) (out []api.Ref) {
	for record := range s.Prefix(records.DeliveriesPrefix) {
		if d, ok := record.Value.(*api.Delivery); ok {
			out = append(out, Ref(d))
		}
	}
	return out
}

// step takes the next step of one delivery.
func (c *deliveries) step(o control.Observation) (control.Step, error) {
	read := find(o.Snapshot, o.Ref)
	if !read.Exists() {
		return control.Step{}, nil
	}
	d := *read.Value
	call := control.Call{Name: fmt.Sprintf("%d/%d", read.Created, d.Attempts), Limit: webhook.AttemptTime}
	if answer, ended := control.Answer[answered](o, call.Name); ended {
		if answer.unmade != nil {
			return c.record(o, read, webhook.GiveUp(d, answer.unmade.Error(), o.Now)), nil //nolint:nilerr // it is the outcome
		}
		return c.record(o, read, webhook.Next(d, answer.Answer, o.Now, answer.spread)), nil
	}
	_, going := o.Going[call.Name]
	switch {
	case d.State != api.DeliveryPending && o.Now.Sub(d.EndedAt) >= webhook.Kept:
		at := records.DeliveryKey(d.Owner(), d.ID)
		return control.Step{Txn: records.NewTxn("delivery.forget").If(at, read.Modified).Delete(at), Guard: at}, nil
	case d.State != api.DeliveryPending:
		return control.Step{}, nil
	case going:
		return control.Step{Calls: []control.Call{call}}, nil
	case webhook.Rests(d, o.Now) > 0:
		return control.Step{After: webhook.Rests(d, o.Now)}, nil
	case d.Attempts == 0 && o.Now.Sub(d.CreatedAt) > webhook.Stale:
		return c.record(o, read, webhook.GiveUp(d, "it could not be delivered within "+webhook.Stale.String(), o.Now)),
			nil
	}
	ready, err := c.prepare(o.Snapshot, d)
	if err != nil {
		return c.record(o, read, webhook.GiveUp(d, err.Error(), o.Now)), nil
	}
	call.Host, call.Request = ready.Host(), ready
	return control.Step{Calls: []control.Call{call}}, nil
}

// record returns the step that writes a delivery's next state.
func (c *deliveries) record(o control.Observation, read records.Read[api.Delivery], next api.Delivery) control.Step {
	at := records.DeliveryKey(next.Owner(), next.ID)
	step := control.Step{
		Txn: records.NewTxn("delivery.record").If(at, read.Modified).Put(at, next), Guard: at,
		Log: func(*slog.Logger) { c.count(next) },
	}
	if next.State == api.DeliveryPending {
		step.After = max(next.NextTryAt.Sub(o.Now), time.Millisecond)
	}
	return step
}

// count logs what became of an attempt, under the name of the owner.
func (c *deliveries) count(d api.Delivery) {
	log := c.logger.With("object", d.Owner().String(), "hook", d.Hook, "delivery", d.ID, "attempts", d.Attempts)
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
