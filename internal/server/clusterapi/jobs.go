package clusterapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// The bounds of an answer with jobs, and of the requests of one cluster that wait for jobs at one server.
const (
	maxJobs      = 50
	maxDelivered = 500
	maxJobBytes  = 4 << 20
	maxWaiting   = 4
	// lookEvery is the interval at which a waiting request searches for jobs even without a change.
	lookEvery = time.Minute
)

// jobs answers with the jobs and queries of a cluster that are due. It waits for some, and answers with none if the
// wait is over.
func (h *Handler) jobs(r *http.Request, by *caller, s records.Snapshot) (any, error) {
	wait, err := waitOf(r)
	if err != nil {
		return nil, err
	}
	resume := r.URL.Query().Get(pull.ResumeParameter) == "true"
	leave, ok := h.waiting.enter(by.cluster)
	if !ok {
		return nil, &failure{http.StatusTooManyRequests, "TooManyRequests",
			"other requests of the cluster wait for jobs already", time.Second}
	}
	defer leave()
	h.touch(r, by, s, nil)
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	for {
		s := records.Snapshot{Reader: h.View.Snapshot()}
		due, next := dueJobs(s, by.cluster, h.Now(), resume)
		queries, again := h.sent.due(s.ClusterQueries(by.cluster), h.Now())
		if len(due)+len(queries) > 0 || ctx.Err() != nil {
			return pull.Jobs{Jobs: due, Queries: queries}, h.sign(s, by, due, queries)
		}
		if next.IsZero() || !again.IsZero() && again.Before(next) {
			next = again
		}
		resume = false            // later on, unfinished jobs may have been acknowledged to another request
		h.await(ctx, s, by, next) // not a sign of the operator: the link may have been cut since
	}
}

// sign signs jobs and queries with the keys of their cluster.
func (h *Handler) sign(s records.Snapshot, by *caller, due []pull.Job, queries []pull.Query) (err error) {
	access := api.ClusterAccess{UID: by.uid}
	if stored := s.ClusterAccess(by.cluster); stored.Exists() && stored.Value.UID == by.uid {
		access = *stored.Value
	}
	keys := clusterjob.JobKeys(h.MAC, access)
	for i := range due {
		if due[i].Signature, err = pull.Sign(due[i], by.cluster, keys...); err != nil {
			return err
		}
	}
	for i := range queries {
		if queries[i].Signature, err = pull.SignQuery(queries[i], by.cluster, keys...); err != nil {
			return err
		}
	}
	return nil
}

// await waits for a change of a cluster's jobs or queries since a snapshot, for an instant, for a minute, or for the
// end of ctx.
func (h *Handler) await(ctx context.Context, s records.Snapshot, by *caller, next time.Time) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs, queries := records.ClusterJobSetPrefix(by.cluster), records.ClusterQuerySetPrefix(by.cluster)
	concerns := func(change view.Change) bool {
		return strings.HasPrefix(change.Key, jobs) || strings.HasPrefix(change.Key, queries)
	}
	changes := h.View.Watch(ctx, view.WatchOptions{From: s.Revision() + 1, Match: concerns})
	lease := time.NewTimer(h.untilNext(next))
	defer lease.Stop()
	pause := time.NewTimer(lookEvery)
	defer pause.Stop()
	select {
	case <-changes.Changes(): // also if it ended: then the snapshot is to be read anyway
	case <-lease.C:
	case <-pause.C:
	case <-ctx.Done():
	}
}

// untilNext returns the duration until an instant; a very long one if it is zero.
func (h *Handler) untilNext(next time.Time) time.Duration {
	if next.IsZero() {
		return time.Hour
	}
	return max(next.Sub(h.Now()), time.Millisecond)
}

// waitOf returns how long a request waits for jobs.
func waitOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return pull.DefaultWait, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, invalid("InvalidWait", "wait=%.20q is not a number of seconds", text)
	}
	return min(time.Duration(n)*time.Second, pull.MaxWait), nil
}

// dueJobs returns the jobs that are due, instances before operations, oldest first; if there are none, the time at
// which the next one may be. With resume, unfinished jobs are due too.
func dueJobs(s records.Snapshot, name string, now time.Time, resume bool) (due []pull.Job, next time.Time) {
	var jobs []*api.ClusterJob
	for _, read := range s.ClusterJobs(name) {
		report := s.ClusterReport(read.Value.Object).Value
		is, at := clusterjob.Due(*read.Value, report, now)
		if is || resume && clusterjob.Unfinished(*read.Value, report, now) {
			jobs = append(jobs, read.Value)
		} else if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	slices.SortFunc(jobs, func(a, b *api.ClusterJob) int {
		return cmp.Or(cmp.Compare(a.Object.Kind, b.Object.Kind), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	due = []pull.Job{}
	size := 0
	for _, job := range jobs[:min(len(jobs), maxJobs)] {
		if size += len(job.Payload); size > maxJobBytes && len(due) > 0 {
			break
		}
		due = append(due, sent(job))
	}
	return due, next
}

// sent returns a job in the form in which its operator gets it.
func sent(job *api.ClusterJob) pull.Job {
	return pull.Job{
		ID: job.ID, Kind: job.Action, Payload: job.Payload, IdempotencyKey: job.Key, CreatedAt: job.CreatedAt,
		ExpiresAt: job.ExpiresAt,
		Object:    clusterjob.VersionOf(*job), Force: job.Force || job.Heal != nil && job.Heal.Force,
	}
}

// delivered answers with finished jobs whose ids follow the given one: the operator compares the cluster with them.
func (h *Handler) delivered(r *http.Request, by *caller, s records.Snapshot) (any, error) {
	after := r.URL.Query().Get(pull.AfterParameter)
	var jobs []*api.ClusterJob
	for _, read := range s.ClusterJobs(by.cluster) {
		if read.Value.ID > after && clusterjob.Delivered(*read.Value, s.ClusterReport(read.Value.Object).Value) {
			jobs = append(jobs, read.Value)
		}
	}
	slices.SortFunc(jobs, func(a, b *api.ClusterJob) int { return cmp.Compare(a.ID, b.ID) })
	answer := pull.Jobs{Jobs: []pull.Job{}}
	size := 0
	for _, job := range jobs[:min(len(jobs), maxDelivered)] {
		if size += len(job.Payload); size > maxJobBytes && len(answer.Jobs) > 0 {
			break
		}
		answer.Jobs = append(answer.Jobs, sent(job))
	}
	return answer, nil
}

// waiting counts the waiting requests by a name, such as a cluster's, and limits them.
type waiting struct {
	most  int
	mu    sync.Mutex
	count map[string]int
}

func newWaiting(most int) *waiting { return &waiting{most: most, count: map[string]int{}} }

// enter counts a request; ok is false if there are too many.
func (w *waiting) enter(name string) (leave func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count[name] >= w.most {
		return nil, false
	}
	w.count[name]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.count[name]--; w.count[name] == 0 {
			delete(w.count, name)
		}
	}, true
}
