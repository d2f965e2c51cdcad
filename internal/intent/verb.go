package intent

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
)

// verb decides and commits, and fills in the revision.
func (s *Service) verb(ctx context.Context, name, actor string, prepare func(layout.Snapshot) (*verbDecision, error),
) (api.VerbResult, error) {
	decided, revision, err := decide(ctx, s, prepare)
	if err != nil {
		return api.VerbResult{}, err
	}
	if revision != 0 {
		decided.result.Revision = revision
	}
	s.note(name, actor, revision, decided.result.Object)
	return decided.result, nil
}

// unchanged is the decision to leave an object as it is.
func unchanged(site string, object layout.Read[api.Object]) *verbDecision {
	return &verbDecision{txn: layout.NewTxn(site), result: api.VerbResult{
		Object: object.Value.Ref(), Generation: object.Value.Metadata.Generation, Revision: object.Modified,
	}}
}

// write adds the object's new form, on the condition that nobody wrote it since it was read.
func (d *verbDecision) write(read layout.Read[api.Object], next api.Object, now time.Time) {
	next.Metadata.Revision = 0
	next.Metadata.UpdatedAt = now
	d.result.Changed = true
	d.result.Generation = next.Metadata.Generation
	key := layout.ObjectKey(next.Ref())
	d.txn.If(key, read.Modified).Put(key, next)
}

// checkWrite holds a verb's outcome to the rules an apply of it would be held to.
func (s *Service) checkWrite(snap layout.Snapshot, next api.Object) error {
	if err := checkObjects([]api.Object{next}, s.opts.Validate); err != nil {
		return err
	}
	found := &faults{}
	checkPorts(snap, []api.Object{next}, nil, found)
	return found.err("conflict with what is stored; nothing was stored")
}

// findDeployment finds a live object that has slots and releases; done says what can't be done to others.
func (t Target) findDeployment(snap layout.Snapshot, done string) (layout.Read[api.Object], error) {
	object, err := t.findLive(snap)
	if err == nil && object.Value.Kind != api.KindDeployment {
		return object, invalid("name a deployment", "%s can't be %s", object.Value.Ref(), done)
	}
	return object, err
}
