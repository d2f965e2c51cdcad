package verbs

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/hex"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
)

type runDecision struct {
	txn    *records.Txn
	result api.RunResult
}

func (d *runDecision) transaction() *records.Txn { return d.txn }

// Run requests a run of a job, or of a cron job independent of its schedule. It creates the run at once; the controller
// runs it. Under concurrency_policy Forbid it is refused while another run is under way.
func (s *Service) Run(ctx context.Context, target Target, actor string) (api.RunResult, error) {
	decided, revision, err := decide(FieldManager{Actor: actor}.asks(ctx, "run"), s, func(snap records.Snapshot) (*runDecision, error) {
		return s.prepareRun(ctx, snap, target, actor)
	})
	if err != nil {
		return api.RunResult{}, err
	}
	if revision != 0 {
		decided.result.Revision = revision
	}
	s.note(ctx, "run", actor, revision, decided.result.Run.Owner())
	return decided.result, nil
}

func (s *Service) prepareRun(ctx context.Context, snap records.Snapshot, target Target, actor string) (*runDecision, error) {
	object, err := target.findLive(snap)
	if err != nil {
		return nil, err
	}
	ref := object.Value.Ref()
	if !ref.Kind.HasRuns() {
		return nil, invalid("name a job or a cron job", "%s can't be run", ref)
	}
	id, repeated := s.runID(ctx, snap, ref, "")
	if repeated != nil {
		return repeated, nil
	}
	if err := forbidden(snap, *object.Value); err != nil {
		return nil, err
	}
	run := api.Run{
		ID: id, Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Trigger: api.TriggerManual, By: actor,
		CreatedAt: s.opts.Now().UTC(), State: api.RunPending,
	}
	key := records.RunKey(ref, run.ID)
	txn := records.NewTxn("run").If(records.ObjectKey(ref), object.Modified).If(key, 0).Put(key, run)
	return &runDecision{txn: txn, result: api.RunResult{Run: run}}, nil
}

// runID returns the id of a new run: prefix and a random part, or one derived from the idempotency key of the request.
// If that run exists, the request is a repeat, and runID also returns the decision to write nothing.
func (s *Service) runID(ctx context.Context, snap records.Snapshot, ref api.Ref, prefix string) (string, *runDecision) {
	keyed, ok := keyedRun(ctx)
	if !ok {
		return prefix + freshRun(snap, ref), nil
	}
	id := prefix + keyed
	if run := snap.Run(ref, id); run.Exists() {
		return id, &runDecision{txn: records.NewTxn("run"), result: api.RunResult{Run: *run.Value, Revision: run.Modified}}
	}
	return id, nil
}

// forbidden returns an error if a cron job permits no second run.
func forbidden(snap records.Snapshot, object api.Object) error {
	if object.Kind != api.KindCronJob {
		return nil
	}
	spec, err := api.DecodeSpec[api.CronJobSpec](object)
	if err != nil || spec.ConcurrencyPolicy != api.ConcurrencyForbid {
		return err
	}
	for _, run := range snap.Runs(object.Ref()) {
		if !run.Value.State.Ended() {
			return &Error{Reason: RunForbidden, Detail: object.Ref().String() + " runs already: " + run.Value.ID,
				Next: "wait for its end, or set concurrency_policy to Allow or Replace"}
		}
	}
	return nil
}

// freshRun returns an id that no run of the object has: m-<8 hex>.
func freshRun(snap records.Snapshot, ref api.Ref) string {
	for {
		random := make([]byte, 4)
		_, _ = cryptorand.Read(random) // never fails
		if id := "m-" + hex.EncodeToString(random); !snap.Run(ref, id).Exists() {
			return id
		}
	}
}
