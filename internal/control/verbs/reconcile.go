package verbs

import (
	"context"
	"maps"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// Reconcile sends an application of a Kubernetes cluster there again, unchanged, and has it reconciled there at once.
func (s *Service) Reconcile(ctx context.Context, target Target, actor string) (api.VerbResult, error) {
	return s.verb(ctx, "reconcile", FieldManager{Actor: actor}, func(snap records.Snapshot) (*verbDecision, error) {
		object, err := target.findLive(snap)
		if err != nil {
			return nil, err
		}
		if object.Value.Kind != api.KindApplicationInstance {
			return nil, invalid("for the pods of a workload: tend restart; for a sync: tend sync now",
				"%s is not an application of a Kubernetes cluster", object.Value.Ref())
		}
		next := *object.Value
		if next.Metadata.Stamps = maps.Clone(next.Metadata.Stamps); next.Metadata.Stamps == nil {
			next.Metadata.Stamps = map[string]string{}
		}
		next.Metadata.Stamps[api.StampPull] = api.NewNonce(s.opts.Now())
		next.Metadata.Change = &api.Change{Verb: "reconcile", Actor: actor}
		decided := unchanged("reconcile", object)
		decided.write(object, next, s.opts.Now())
		return decided, nil
	})
}
