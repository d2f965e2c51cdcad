package verbs

import (
	"encoding/json"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/outcome"
	"tend.dev/tend/internal/store/records"
)

// retry asks for another try of the objects that an apply leaves as they are although they are in trouble: applying the
// same again can only mean that. The write has a revision of its own, so no older status answers for this apply. A sync
// applies again by itself and asks for nothing.
func (d *applyDecision) retry(snap records.Snapshot, opts ApplyOptions, now time.Time) error {
	if opts.Sync != nil || opts.manager() != api.ManagerApply {
		return nil
	}
	for i := range d.placed {
		p := &d.placed[i]
		if p.withdrawn || p.released || !p.stored.Exists() || !sameButSet(*p.stored.Value, p.next) {
			continue
		}
		var err error
		if p.result.Retried, err = inTrouble(snap, p.stored, outcome.Retry); err != nil {
			return err
		}
		if p.result.Retried {
			p.next.Metadata.Stamps = with(p.next.Metadata.Stamps, api.StampPull, api.NewNonce(now))
		}
	}
	return nil
}

// retryScale asks for another try of an object in trouble whose count stays as it is, as an unchanged apply does, but
// once for a failure: who repeats a count need not mean the trouble.
func (s *Service) retryScale(
	snap records.Snapshot, decided *verbDecision, object records.Read[api.Object], by FieldManager,
) error {
	if by.manager() != api.ManagerApply {
		return nil
	}
	retried, err := inTrouble(snap, object, outcome.RetryOnce)
	if err != nil || !retried {
		return err
	}
	now, next := s.opts.Now(), *object.Value
	next.Metadata.Stamps = with(next.Metadata.Stamps, api.StampPull, api.NewNonce(now))
	next.Metadata.Change = &api.Change{Verb: "scale", Actor: by.Actor}
	write(decided, object, next, now)
	decided.result.Changed, decided.result.Retried = false, true
	return nil
}

// inTrouble reports whether a verb that changes nothing of an object asks for another try of it, by a rule of outcome.
func inTrouble(
	snap records.Snapshot, stored records.Read[api.Object], rule func(api.Object) (bool, error),
) (bool, error) {
	object, err := statusOf(snap, stored)
	if err != nil {
		return false, err
	}
	return rule(object)
}

// statusOf returns a stored object with its revision and its status.
func statusOf(snap records.Snapshot, stored records.Read[api.Object]) (api.Object, error) {
	object := *stored.Value
	object.Metadata.Revision = stored.Modified
	status, there := snap.Get(records.StatusKey(object.Ref()))
	if !there {
		return object, nil
	}
	if raw, ok := status.Value.([]byte); ok {
		object.Status = raw
		return object, nil
	}
	var err error
	object.Status, err = json.Marshal(status.Value)
	return object, err
}
