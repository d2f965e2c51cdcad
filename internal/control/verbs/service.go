package verbs

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/platform/delay"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// Reader returns snapshots of the store that are at least as new as every commit made before the call.
type Reader interface {
	Fresh(ctx context.Context) (records.Snapshot, error)
}

// Options are the dependencies of a Service. Store and Reader are needed.
type Options struct {
	Store  records.Committer
	Reader Reader
	// Leases make the marks of Hold expire. Default: Hold marks nothing.
	Leases Leases
	// Validate returns the errors in a manifest that don't depend on the store. Default: none.
	Validate func(api.Object) []api.FieldError
	// Preview lists what the controllers will do once the objects in next are stored and those in deleted are gone.
	// Default: an empty plan.
	Preview func(snap records.Snapshot, next []api.Object, deleted []api.Ref) ([]api.PlannedAction, error)
	// Rebalance returns the moves that level the nodes, among the workloads that chosen accepts. Default: none.
	Rebalance func(snap records.Snapshot, chosen func(api.Ref) bool) []placement.Move
	// Impossible returns why no node could take the pods of an object, however much room there were. Default: one could.
	Impossible func(snap records.Snapshot, object api.Object) (placement.Refusal, bool)
	// Seal encrypts a config value, or a registry's token. Default: both are refused.
	Seal func(plain []byte) ([]byte, error)
	// MAC is a keyed hash that identifies a sealed token. Needed with Seal for registries.
	MAC func(plain []byte) string
	// Open decrypts what Seal encrypted. Needed with Seal for buckets.
	Open func(sealed []byte) ([]byte, error)
	// EnvHash identifies the environment an object will have once a bucket has changed. Default: every reader of a
	// bucket counts as affected by its changes, and quiet changes are refused.
	EnvHash func(snap records.Snapshot, object api.Object, change env.Change) (string, error)
	// ConfigSince names the config values that changed since a release of an object, and returns the hash of the
	// environment of now, as the object's spec would have it. If that can't be built, the error says why, and a hash
	// stands for it all the same; the hash is empty if the release's own environment can't be read. Default: rollbacks
	// name no values, and refuse to return to them.
	ConfigSince func(snap records.Snapshot, object api.Object, release api.Release) (api.ConfigDifferences, string,
		error)
	// Occupied returns why the pods of a spec can't start: another program's container writes to their volumes.
	// Default: they can; the agents refuse the start.
	Occupied func(ctx context.Context, spec api.DeploymentSpec) (Occupied, bool)
	// FindImage asks the node to which a request for an image would go whether it has the image. It returns the node's
	// answer, apart from the request, and the revision of the record of its machine. Unless again, nothing is asked for
	// an object that has asked for that image already. Default: the controllers ask.
	FindImage func(ctx context.Context, request api.ImageRequest, again bool) (
		answer api.ImageStatus, member int64, ok bool)
	// Ports are those at which this server listens. Default: it has none.
	Ports []int
	// Assets keep the bytes of assets. Default: assets are refused.
	Assets Assets
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// NewUID names an object. Default: 128 random bits.
	NewUID func() string
	// Logger gets a line for each verb that wrote. Default slog.Default.
	Logger *slog.Logger
}

// Service performs the verbs. Safe for concurrent use.
type Service struct {
	opts Options
	// turn lets one verb decide and commit at a time, so that the verbs of one server don't conflict with each other.
	turn chan struct{}
}

// New makes a Service.
func New(opts Options) *Service {
	if opts.Validate == nil {
		opts.Validate = func(api.Object) []api.FieldError { return nil }
	}
	if opts.Rebalance == nil {
		opts.Rebalance = func(records.Snapshot, func(api.Ref) bool) []placement.Move { return nil }
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Impossible == nil {
		opts.Impossible = func(records.Snapshot, api.Object) (placement.Refusal, bool) { return placement.Refusal{}, false }
	}
	if opts.NewUID == nil {
		opts.NewUID = randomUID
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	return &Service{opts: opts, turn: make(chan struct{}, 1)}
}

// maxTries bounds how often a verb decides again because what it decided from had changed.
const maxTries = 20

// turnTime bounds how long a verb waits for those before it: each may wait for a store that doesn't answer.
const turnTime = 12 * time.Second

// decision holds the writes of a verb, and their conditions.
type decision interface {
	transaction() *records.Txn
}

// decide lets prepare decide from a fresh snapshot and commits the outcome. It repeats both if a precondition did not
// hold. The revision is 0 if there was nothing to write.
//
// Rules hold between objects: two may not use one port of the host, an object carries the digests of the assets it
// mounts. So every commit compares and writes the guard: of two decided from the same state only one is ever applied,
// whichever server made it and however late it arrives.
func decide[D decision](ctx context.Context, s *Service, prepare func(records.Snapshot) (D, error)) (D, int64, error) {
	return decideThrough(ctx, s, nil, prepare)
}

// decideThrough is decide with another way for the commit; nil is the service's store.
func decideThrough[D decision](
	ctx context.Context, s *Service, through records.Committer, prepare func(records.Snapshot) (D, error),
) (D, int64, error) {
	var none D
	if through == nil {
		through = s.opts.Store
	}
	wait, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-wait.Done():
		return none, 0, fmt.Errorf("wait for the verbs before this one; nothing was stored: %w", wait.Err())
	}
	for try := range maxTries {
		if err := rest(ctx, try); err != nil {
			return none, 0, err
		}
		snap, err := s.opts.Reader.Fresh(ctx)
		if err != nil {
			return none, 0, err
		}
		decided, err := prepare(snap)
		if err != nil {
			return none, 0, err
		}
		txn := guarded(snap, decided.transaction()).Trace(tracing.Record(ctx, s.opts.Now()))
		revision, err := txn.Commit(ctx, through)
		switch {
		case err == nil:
			return decided, revision, nil
		case errors.Is(err, store.ErrTooLarge):
			return none, 0, tooLarge(err)
		case errors.Is(err, store.ErrUnknownOutcome):
			return none, 0, &UnknownOutcomeError{Site: decided.transaction().Site(), Err: err}
		case !errors.Is(err, store.ErrConflict):
			return none, 0, err
		}
	}
	return none, 0, &Error{Reason: Busy, Detail: "others kept changing the same objects; nothing was stored",
		Next: "try again"}
}

func tooLarge(err error) error {
	return &Error{Reason: TooLarge, Detail: "nothing was stored: " + err.Error(), Next: "apply in smaller parts"}
}

// consider decides from a fresh snapshot and stores nothing. A dry run waits for no verb, and no verb waits for it. It
// refuses what the store would refuse.
func consider[D decision](
	ctx context.Context, s *Service, prepare func(records.Snapshot) (D, error),
) (decided D, revision int64, err error) {
	snap, err := s.opts.Reader.Fresh(ctx)
	if err != nil {
		return decided, 0, err
	}
	if decided, err = prepare(snap); err != nil {
		return decided, 0, err
	}
	if err = decided.transaction().Err(); errors.Is(err, store.ErrTooLarge) {
		err = tooLarge(err)
	}
	return decided, snap.Revision(), err
}

// guarded adds the guard to a transaction that writes.
func guarded(snap records.Snapshot, txn *records.Txn) *records.Txn {
	if txn.Empty() {
		return txn
	}
	guard, _ := snap.Get(records.GuardKey)
	return txn.If(records.GuardKey, guard.Modified).Put(records.GuardKey, txn.Site())
}

// rest waits before another try, with a growing and random delay, so that two servers that change the same object don't
// stay in step. The first try doesn't wait.
func rest(ctx context.Context, try int) error {
	if try == 0 {
		return nil
	}
	return delay.For(ctx, rand.N(time.Duration(try)*2*time.Millisecond))
}

// note writes the audit line of a verb that changed something.
func (s *Service) note(ctx context.Context, verb, actor string, revision int64, objects ...api.Ref) {
	if revision == 0 {
		return
	}
	names := make([]string, 0, min(len(objects), 20))
	for _, ref := range objects[:min(len(objects), 20)] {
		names = append(names, ref.String())
	}
	s.opts.Logger.InfoContext(ctx, "verb committed", "verb", verb, "actor", actor, "revision", revision,
		"count", len(objects), "objects", names)
}

func randomUID() string {
	random := make([]byte, 16)
	// crypto/rand.Read never fails on the systems Go supports; it ends the process instead.
	_, _ = cryptorand.Read(random)
	return hex.EncodeToString(random)
}
