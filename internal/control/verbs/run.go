package verbs

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/hex"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/store/records"
)

var _ = Declare(verb.Verb{
	Name: "run", Summary: "Ask for a run of a job, or of a cron job whatever its schedule says",
	Rule: access.Deployers("run"),
}, plainly((*Service).Run))

// Run requests a run of a job, or of a cron job independent of its schedule. It creates the run at once; the controller
// runs it. Under concurrency_policy Forbid it is refused while another run is under way.
func (s *Service) Run(ctx context.Context, target Target, actor string) (api.RunResult, error) {
	return s.requestRun(ctx, "run", actor, func(snap records.Snapshot) (*Decision[api.RunResult], error) {
		return s.prepareRun(ctx, snap, target, actor)
	})
}

// requestRun decides and commits, and sets the revision in the result.
func (s *Service) requestRun(
	ctx context.Context, name, actor string, prepare func(records.Snapshot) (*Decision[api.RunResult], error),
) (api.RunResult, error) {
	decided, revision, err := decide(FieldManager{Actor: actor}.asks(ctx, name), s, prepare)
	if err != nil {
		return api.RunResult{}, err
	}
	if revision != 0 {
		decided.result.Revision = revision
	}
	s.note(ctx, name, actor, revision, decided.result.Run.Owner())
	return decided.result, nil
}

func (s *Service) prepareRun(
	ctx context.Context, snap records.Snapshot, target Target, actor string,
) (*Decision[api.RunResult], error) {
	object, err := target.findLive(snap)
	if err != nil {
		return nil, err
	}
	ref := object.Value.Ref()
	if !ref.Kind.HasRuns() {
		return nil, invalid(nameOne(api.Kind.HasRuns)+"; `tend exec` runs a command in a pod", "%s can't be run", ref)
	}
	if repeated := repeatedRun(ctx, snap, ref); repeated != nil {
		return repeated, nil
	}
	if err := forbidden(snap, *object.Value); err != nil {
		return nil, err
	}
	run := api.Run{
		ID: runID(ctx, snap, ref), Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Trigger: api.TriggerManual,
		By:        actor,
		CreatedAt: s.opts.Now().UTC(), State: api.RunPending,
	}
	key := records.RunKey(ref, run.ID)
	txn := records.NewTxn("run").If(records.ObjectKey(ref), object.Modified).If(key, 0).Put(key, run)
	return &Decision[api.RunResult]{txn: txn, result: api.RunResult{Run: run}}, nil
}

// repeatedRun returns the decision to write nothing if a request with the same idempotency key has made a run of an
// object. Its id ends as the key says: of a release command it begins with the release, which may be another one by
// now.
func repeatedRun(ctx context.Context, snap records.Snapshot, ref api.Ref) *Decision[api.RunResult] {
	keyed, ok := keyedRun(ctx)
	if !ok {
		return nil
	}
	for _, run := range snap.Runs(ref) {
		if strings.HasSuffix(run.Value.ID, keyed) {
			return &Decision[api.RunResult]{txn: records.NewTxn("run"),
				result: api.RunResult{Run: *run.Value, Revision: run.Modified}}
		}
	}
	return nil
}

// runID returns the id of a new run: a random one, or one derived from the idempotency key of the request.
func runID(ctx context.Context, snap records.Snapshot, ref api.Ref) string {
	if keyed, ok := keyedRun(ctx); ok {
		return keyed
	}
	return freshRun(snap, ref)
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
