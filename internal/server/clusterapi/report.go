package clusterapi

import (
	"net/http"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/store/records"
)

// acknowledge records that the operator has accepted a job: it is not sent again before its lease is over.
func (h *Handler) acknowledge(r *http.Request, by *caller, s records.Snapshot) (any, error) {
	return nil, h.report(r, by, s, "cluster.ack", clusterjob.Acknowledge)
}

// status records how far the operator is with a job.
func (h *Handler) status(r *http.Request, by *caller, s records.Snapshot) (any, error) {
	var status pull.Status
	if err := read(r, &status); err != nil {
		return nil, err
	}
	return nil, h.report(r, by, s, "cluster.status",
		func(stored *api.ClusterReport, job api.ClusterJob, now time.Time) (api.ClusterReport, clusterjob.Verdict) {
			return clusterjob.TakeStatus(stored, job, status, now)
		})
}

// result records the result of a job.
func (h *Handler) result(r *http.Request, by *caller, s records.Snapshot) (any, error) {
	var result pull.Result
	if err := read(r, &result); err != nil {
		return nil, err
	}
	outcomes := []string{pull.OutcomeSucceeded, pull.OutcomeFailed, pull.OutcomeNoop, pull.OutcomeConflict}
	switch {
	case !slices.Contains(outcomes, result.Outcome):
		return nil, invalid("InvalidOutcome", "outcome %.40q is not succeeded, failed, noop or conflict", result.Outcome)
	case result.Outcome == pull.OutcomeFailed && result.Error == "":
		return nil, invalid("InvalidResult", "a result that is failed needs an error")
	}
	return nil, h.report(r, by, s, "cluster.result",
		func(stored *api.ClusterReport, job api.ClusterJob, now time.Time) (api.ClusterReport, clusterjob.Verdict) {
			return clusterjob.TakeResult(stored, job, result, now)
		})
}

// report stores the operator's report on a job.
func (h *Handler) report(r *http.Request, by *caller, s records.Snapshot, site string,
	take func(*api.ClusterReport, api.ClusterJob, time.Time) (api.ClusterReport, clusterjob.Verdict),
) error {
	_, err := h.change(r.Context(), s, func(s records.Snapshot) (*records.Txn, error) {
		ref, ok := clusterjob.ObjectOf(r.PathValue("id"))
		job := s.ClusterJob(by.cluster, ref)
		switch {
		case !ok || !job.Exists():
			return nil, &failure{http.StatusNotFound, "NotFound", "there is no such job", 0}
		case job.Value.ID != r.PathValue("id"):
			return nil, &failure{http.StatusConflict, "Closed", "another job has taken its place", 0}
		}
		stored, key := s.ClusterReport(ref), records.ClusterReportKey(ref)
		next, verdict := take(stored.Value, *job.Value, h.Now())
		switch verdict {
		case clusterjob.Closed:
			return nil, &failure{http.StatusConflict, "Closed", "the job has a result", 0}
		case clusterjob.Unacknowledged:
			return nil, &failure{http.StatusConflict, "Unacknowledged", "acknowledge the job first", 0}
		}
		txn := records.NewTxn(site).If(records.ClusterJobKey(by.cluster, ref), job.Modified).If(key, stored.Modified).
			Put(key, next)
		return h.heard(s, txn, by, r.UserAgent(), nil), nil
	})
	return err
}

// events records the events of a cluster. It skips events of objects that are not the cluster's.
func (h *Handler) events(r *http.Request, by *caller, s records.Snapshot) (any, error) {
	var batch pull.Events
	if err := read(r, &batch); err != nil {
		return nil, err
	}
	if len(batch.Events) > pull.MaxEvents {
		return nil, invalid("TooManyEvents", "%d events in one request, at most %d", len(batch.Events), pull.MaxEvents)
	}
	_, err := h.change(r.Context(), s,
		func(s records.Snapshot) (*records.Txn, error) { return h.take(s, by, r.UserAgent(), batch.Events), nil })
	return nil, err
}

// take returns the changes of a batch of events: each object's report once.
func (h *Handler) take(s records.Snapshot, by *caller, operator string, events []pull.Event) *records.Txn {
	txn := records.NewTxn("cluster.events")
	reports := map[api.Ref]*api.ClusterReport{}
	var changed []api.Ref
	var conditions []pull.Condition
	for _, event := range events {
		if event.ResourceRef.Kind == api.ClusterKind {
			if event.ResourceRef.Name == by.cluster && len(event.Conditions) > 0 {
				conditions = event.Conditions
			}
			continue
		}
		ref, ok := clusterjob.RefOf(event.ResourceRef)
		object := s.Object(ref)
		if !ok || !object.Exists() || clusterjob.ClusterOf(*object.Value) != by.cluster {
			continue
		}
		stored, begun := reports[ref]
		if !begun {
			stored = s.ClusterReport(ref).Value
		}
		next, verdict := clusterjob.TakeEvent(stored, object.Value.Metadata.UID, event, h.Now())
		if verdict != clusterjob.Taken {
			continue
		}
		if !begun {
			changed = append(changed, ref)
		}
		reports[ref] = &next
	}
	for _, ref := range changed {
		key := records.ClusterReportKey(ref)
		txn.If(records.ObjectKey(ref), s.Object(ref).Modified).If(key, s.ClusterReport(ref).Modified).Put(key, *reports[ref])
	}
	return h.heard(s, txn, by, operator, conditions)
}
