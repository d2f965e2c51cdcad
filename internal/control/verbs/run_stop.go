package verbs

import (
	"context"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// StopRuns ends runs of a job for good: it stops running ones, keeps waiting ones from beginning, and prevents further
// attempts. Without ids it ends all unfinished runs.
func (s *Service) StopRuns(ctx context.Context, target Target, ids []string, actor string) (api.StopResult, error) {
	return s.mark(ctx, "run stop", actor, func(snap records.Snapshot) (*Decision[api.StopResult], error) {
		return prepareStopRuns(snap, target, ids, actor)
	})
}

func prepareStopRuns(
	snap records.Snapshot, target Target, ids []string, actor string,
) (*Decision[api.StopResult], error) {
	object, err := target.findLive(snap)
	if err != nil {
		return nil, err
	}
	ref := object.Value.Ref()
	if !ref.Kind.HasRuns() {
		return nil, invalid("name a job or a cron job", "%s has no runs", ref)
	}
	decided := &Decision[api.StopResult]{txn: records.NewTxn("run.stop"), result: api.StopResult{Object: ref}}
	for _, read := range snap.Runs(ref) {
		run := *read.Value
		if run.State.Ended() || len(ids) > 0 && !slices.Contains(ids, run.ID) {
			continue
		}
		decided.result.Runs = append(decided.result.Runs, run.ID)
		for _, attempt := range run.Attempts {
			if attempt.FinishedAt.IsZero() {
				decided.result.Pods = append(decided.result.Pods, attempt.Pod)
			}
		}
		if run.StoppedBy == "" {
			run.StoppedBy = actor
			key := records.RunKey(ref, run.ID)
			decided.txn.If(key, read.Modified).Put(key, run)
		}
	}
	return decided, nil
}
