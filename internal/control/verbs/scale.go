package verbs

import (
	"context"
	"encoding/json"
	"strconv"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/store/records"
)

// MaxReplicas bounds what scale accepts, so that a typo doesn't become ten million containers.
const MaxReplicas = 10_000

// verbDecision is the outcome of a verb on one object.
type verbDecision struct {
	txn    *records.Txn
	result api.VerbResult
	next   *api.Object // what is written; nil for nothing
}

func (d *verbDecision) transaction() *records.Txn { return d.txn }

// Scale sets spec.replicas.
func (s *Service) Scale(ctx context.Context, target Target, replicas int, by FieldManager) (api.VerbResult, error) {
	if replicas < 0 || replicas > MaxReplicas {
		return api.VerbResult{}, invalid("give a count between 0 and "+strconv.Itoa(MaxReplicas),
			"%d replicas can't be", replicas)
	}
	if err := by.check(); err != nil {
		return api.VerbResult{}, err
	}
	return s.verb(ctx, "scale", by, func(snap records.Snapshot) (*verbDecision, error) {
		return s.prepareScale(snap, target, replicas, by)
	})
}

func (s *Service) prepareScale(
	snap records.Snapshot, target Target, replicas int, by FieldManager,
) (*verbDecision, error) {
	object, err := target.findSlotted(snap, "scaled")
	if err != nil {
		return nil, err
	}
	spec, err := api.DecodeSpec[api.DeploymentSpec](*object.Value)
	if err != nil {
		return nil, err
	}
	before := spec.ReplicaCount()
	decided := unchanged("scale", object)
	decided.result.PreviousReplicas, decided.result.Replicas = &before, &replicas
	if before == replicas &&
		(spec.Replicas == nil || spec.Autoscale != nil && *spec.Replicas == replicas && !by.ForceConflicts) {
		return decided, s.retryScale(snap, decided, object, by)
	}
	if err := checkScale(*object.Value, spec, replicas, by); err != nil {
		return nil, err
	}
	next := *object.Value
	if next.Spec, err = withField(next.Spec, "replicas", json.RawMessage(strconv.Itoa(replicas))); err != nil {
		return nil, err
	}
	declared := declaredReplicas(*object.Value, spec)
	if by.manager() == api.ManagerApply && before != replicas {
		next.Metadata.Stamps = with(next.Metadata.Stamps, api.StampScaled, declared)
	}
	if declared != strconv.Itoa(replicas) && declared != noReplicas {
		decided.result.Warnings = append(decided.result.Warnings,
			"the manifest that was applied declares replicas "+declared+
				": the next apply of it sets "+declared+" again; change the number there, or take it out to keep what tend scale sets")
	}
	if warning := volumes.Several(spec, replicas); warning != "" && replicas > before {
		decided.result.Warnings = append(decided.result.Warnings, warning)
	}
	if err := s.amend(snap, decided, object, next, by, isReplicas); err != nil || decided.next != nil {
		return decided, err
	}
	return decided, s.retryScale(snap, decided, object, by)
}
