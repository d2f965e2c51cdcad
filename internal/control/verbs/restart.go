package verbs

import (
	"context"
	"fmt"
	"strconv"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/store/records"
)

var _ = Declare(verb.Verb{
	Name: "restart", Summary: "Replace every pod, by the workload's strategy", Rule: access.Deployers("restart"),
	Commands: []verb.Command{{
		Path: "restart", Use: "[KIND] SCOPE/NAME",
		Short: "restart all pods, following the rollout strategy; also restarts stopped pods",
		Long: "Restart all pods, following the rollout strategy. Pods that `tend stop` stopped run again.\n" +
			"If a command of a newer release failed, Tend retries that release; pods keep serving until the command succeeds.",
		Example: "  tend restart prod/web",
		Waits:   true,
		Says: func(ref api.Ref, _, answer any) []verb.Line {
			return []verb.Line{restartLine(ref, *answer.(*api.VerbResult))}
		},
	}},
}, plainly((*Service).Restart))

func restartLine(ref api.Ref, result api.VerbResult) verb.Line {
	line := verb.Line{Name: ref.String(), Text: fmt.Sprintf("%s restarting", ref)}
	switch {
	case result.Retries != "":
		line.Text = fmt.Sprintf("%s tries %s, whose command failed, again; its pods stay as they are until that passes",
			ref, result.Retries)
	case result.Replicas != nil && *result.Replicas == 0:
		line.Text = fmt.Sprintf("%s is scaled to 0: nothing runs that could restart", ref)
		line.Next = fmt.Sprintf("tend scale %s/%s 1", ref.Scope, ref.Name)
	}
	return line
}

// Restart makes every slot outdated by a new nonce, and thaws the frozen ones: a user who restarts wants them to run.
// If the release command of a newer release failed, Restart requests another try of it. If that succeeds, every slot is
// replaced; until then the serving pods stay as they are.
func (s *Service) Restart(ctx context.Context, target Target, actor string) (api.VerbResult, error) {
	return s.verb(ctx, "restart", FieldManager{Actor: actor}, func(snap records.Snapshot) (*verbDecision, error) {
		object, err := target.findSlotted(snap, "restarted", restartCommand, api.Kind.HasSlots)
		if err != nil {
			return nil, err
		}
		next := *object.Value
		next.Metadata.Stamps = next.Metadata.CopyStamps()
		stamp := api.StampRestart
		failed := failedRelease(snap, next)
		if failed != "" {
			stamp = api.StampRetry
		}
		nonce := nextNonce(next.Metadata.Stamps[stamp])
		next.Metadata.Stamps[stamp] = nonce
		delete(next.Metadata.Stamps, api.StampQuietEnv) // the restart applies what config set --no-restart postponed
		next.Metadata.Change = &api.Change{Verb: "restart", Actor: actor}
		decided := unchanged("restart", object)
		if decided.result.Replicas, err = replicasOf(next); err != nil {
			return nil, err
		}
		write(decided, object, next, s.opts.Now())
		if decided.result.Retries = failed; failed == "" {
			decided.result.Restart = nonce
		}
		for _, mark := range snap.Frozen(next.Ref()) {
			key := records.FrozenKey(next.Ref(), mark.Value.Slot)
			decided.txn.If(key, mark.Modified).Delete(key)
			decided.result.Unfrozen = append(decided.result.Unfrozen, podName(next.Ref(), mark.Value.Slot))
		}
		return decided, nil
	})
}

// replicasOf returns the replicas that a workload wants; nil if it wants one on each node.
func replicasOf(object api.Object) (*int, error) {
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil || spec.Global() {
		return nil, err
	}
	count := spec.ReplicaCount()
	return &count, nil
}

// failedRelease returns the newest release of a workload where a command of it failed and it is not in force.
func failedRelease(snap records.Snapshot, object api.Object) string {
	status := snap.WorkloadStatus(object.Ref()).Value
	releases := snap.Releases(object.Ref())
	if status == nil || len(releases) == 0 {
		return ""
	}
	c := api.FindCondition(status.Conditions, api.ConditionProgressing)
	if newest := releases[len(releases)-1].Value; c != nil && c.Reason == api.ReasonReleaseCommandFailed &&
		newest.ID != status.Release {
		return newest.ID
	}
	return ""
}

// nextNonce counts up, so that a nonce is never used twice.
func nextNonce(last string) string {
	n, _ := strconv.ParseInt(last, 10, 64)
	return strconv.FormatInt(n+1, 10)
}

func podName(ref api.Ref, slot string) string { return ref.AppID() + "." + slot }
