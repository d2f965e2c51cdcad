package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/store/records"
)

// MaxReplicas bounds what scale accepts, so that a typo doesn't become ten million containers.
const MaxReplicas = 10_000

type scaleInput struct {
	Replicas       int  `query:"replicas" required:"true"`
	ForceConflicts bool `query:"force_conflicts" flag:"force-conflicts" help:"take over fields that another manager set to another value"`
}

var _ = Declare(verb.Verb{
	Name: "scale", Summary: "Set the replicas of a workload", Rule: access.Deployers("scale"),
	Commands: []verb.Command{{
		Path: "scale", Use: "[KIND] SCOPE/NAME REPLICAS", Short: "set how many replicas run",
		Long:    "Set how many replicas run. The next apply of a manifest that names replicas sets them again.",
		Example: "  tend scale prod/web 5\n  tend scale deployment prod/web 0",
		Rest:    1, Waits: true, Counts: true, Read: verb.Reads(readReplicas), Says: verb.Says(scaleText),
	}},
}, func(ctx context.Context, s *Service, r Request[scaleInput]) (api.VerbResult, error) {
	return s.Scale(ctx, r.Target, r.In.Replicas, FieldManager{Actor: r.Actor, ForceConflicts: r.In.ForceConflicts})
})

func readReplicas(at string, rest []string, in *scaleInput) (err error) {
	if len(rest) != 1 {
		return fmt.Errorf("give the number of replicas: tend scale %s 3", at)
	}
	in.Replicas, err = strconv.Atoi(strings.TrimPrefix(rest[0], "="))
	if err != nil || in.Replicas < 0 {
		return fmt.Errorf("%q is not a number of replicas: want 0 or more", rest[0])
	}
	return nil
}

func scaleText(ref api.Ref, in scaleInput, result api.VerbResult) string {
	switch {
	case result.Retried:
		return fmt.Sprintf("%s has %d replicas already; it was in trouble, and is tried again", ref, in.Replicas)
	case !result.Changed:
		return fmt.Sprintf("%s has %d replicas already", ref, in.Replicas)
	case result.PreviousReplicas != nil:
		return fmt.Sprintf("%s scaled from %d to %d", ref, *result.PreviousReplicas, in.Replicas)
	}
	return fmt.Sprintf("%s scaled to %d", ref, in.Replicas)
}

// Scale sets spec.replicas.
func (s *Service) Scale(ctx context.Context, target Target, replicas int, by FieldManager) (api.VerbResult, error) {
	if replicas < 0 || replicas > MaxReplicas {
		return api.VerbResult{}, invalid("give a count between 0 and "+strconv.Itoa(MaxReplicas),
			"%d is not a possible number of replicas", replicas)
	}
	if err := by.check(); err != nil {
		return api.VerbResult{}, err
	}
	return s.verb(ctx, "scale", by, func(snap records.Snapshot) (*verbDecision, error) {
		return s.prepareScale(snap, target, replicas, by.of(ctx))
	})
}

func (s *Service) prepareScale(
	snap records.Snapshot, target Target, replicas int, by FieldManager,
) (*verbDecision, error) {
	object, err := target.findSlotted(snap, "scaled", "tend scale %s REPLICAS", api.Kind.HasSlots)
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
