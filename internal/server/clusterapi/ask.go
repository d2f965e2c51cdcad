package clusterapi

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// revokeTime bounds the time for ending a query.
const revokeTime = 5 * time.Second

// Ask asks the operator of an object's cluster for the output of its pods, and waits for the answer. q selects pods and
// lines. token is the name of the access token of the caller; empty for the server's own token or its socket. The query
// is in the store, so that the operator may get it from any server and answer to any other. If this server dies, the
// request fails and the query ends with its lease.
func (h *Handler) Ask(ctx context.Context, token string, ref api.Ref, q pull.Query) (pull.Answer, error) {
	if err := CheckQuery(q); err != nil {
		return pull.Answer{}, err
	}
	s, err := h.Fresh(ctx)
	if err != nil {
		return pull.Answer{}, err
	}
	name, err := askable(s, ref)
	if err != nil {
		return pull.Answer{}, err
	}
	leave, err := h.enter(name, token)
	if err != nil {
		return pull.Answer{}, err
	}
	defer leave()
	lease, err := h.Leases.Grant(ctx, pull.QueryLife)
	if err != nil {
		return pull.Answer{}, fmt.Errorf("ask the operator of a cluster: %w", err)
	}
	defer h.end(ctx, lease)
	q.ID, q.Tail = rand.Text(), min(q.Tail, pull.MaxTail)
	q.CreatedAt = h.Now().UTC()
	q.ExpiresAt = q.CreatedAt.Add(pull.QueryLife)
	s, err = h.change(ctx, s, func(s records.Snapshot) (*records.Txn, error) {
		if name, err = askable(s, ref); err != nil {
			return nil, err
		}
		object, resource := s.Object(ref), clusterjob.ResourceOf(ref)
		q.Namespace, q.Name, q.Object = resource.Namespace, resource.Name, object.Value.Metadata.UID
		key := records.ClusterQueryKey(name, q.ID)
		return records.NewTxn("cluster.query").If(records.ObjectKey(ref), object.Modified).If(key, 0).
			PutLeased(key, records.ClusterQuery{Query: q, Lease: lease}, lease), nil
	})
	if err != nil {
		return pull.Answer{}, problemOf(err)
	}
	return h.awaitAnswer(ctx, s, name, q.ID)
}

// askable returns the cluster whose operator can be asked about an object, or an error with the reason why it can't be
// asked.
func askable(s records.Snapshot, ref api.Ref) (string, error) {
	object := s.Object(ref)
	if !object.Exists() {
		return "", &api.Problem{Status: http.StatusNotFound, Detail: "there is no " + ref.String(),
			Next: "`tend get` lists what there is"}
	}
	name := clusterjob.ClusterOf(*object.Value)
	declared := s.Cluster(name)
	if !declared.Exists() || accessOf(s, declared) == nil {
		return "", unavailable(name, "no operator of cluster %s has registered", name)
	}
	if status := s.ClusterStatus(name); status.Exists() {
		c := api.FindCondition(status.Value.Conditions, clusterjob.ConditionConnected)
		if c != nil && c.Status == api.ConditionFalse {
			return "", unavailable(name, "cluster %s is not connected: %s", name, c.Message)
		}
	}
	open := 0
	for _, query := range s.ClusterQueries(name) {
		if query.Value.Answer == nil {
			open++
		}
	}
	if open >= maxQueries {
		return "", tooMany("%d questions to the operator of cluster %s wait for an answer", open, name)
	}
	return name, nil
}

// enter counts a query that isn't in the store yet; askable counts the stored ones later.
func (h *Handler) enter(cluster, token string) (leave func(), err error) {
	part := func() {}
	if token != "" {
		var ok bool
		if part, ok = h.askers.enter(cluster + " " + token); !ok {
			return nil, tooMany("%d questions of access token %s to the operator of cluster %s wait for an answer",
				maxTokenQueries, token, cluster)
		}
	}
	whole, ok := h.asking.enter(cluster)
	if !ok {
		part()
		return nil, tooMany("%d questions to the operator of cluster %s wait for an answer", maxQueries, cluster)
	}
	return func() { whole(); part() }, nil
}

func tooMany(format string, args ...any) error {
	return &api.Problem{Status: http.StatusTooManyRequests, Detail: fmt.Sprintf(format, args...),
		Next: "try again in a few seconds"}
}

func unavailable(name, format string, args ...any) error {
	return &api.Problem{Status: http.StatusServiceUnavailable, Detail: fmt.Sprintf(format, args...),
		Next: "tend describe cluster " + name}
}

// problemOf returns a failure as people read it.
func problemOf(err error) error {
	if f, ok := err.(*failure); ok { //nolint:errorlint // change returns it unwrapped
		return &api.Problem{Status: f.status, Detail: f.message, Next: "try again"}
	}
	return err
}

// awaitAnswer waits until a query has its answer.
func (h *Handler) awaitAnswer(
	ctx context.Context, s records.Snapshot, name, id string,
) (answer pull.Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, pull.AnswerWait)
	defer cancel()
	key := records.ClusterQueryKey(name, id)
	watch := h.View.Watch(ctx, view.WatchOptions{From: s.Revision() + 1, Prefix: key})
	for {
		stored := s.ClusterQuery(name, id)
		if stored.Exists() && stored.Value.Answer != nil {
			return h.unseal(stored.Value.Answer)
		}
		_, more := <-watch.Changes()
		if s = (records.Snapshot{Reader: h.View.Snapshot()}); !more && s.ClusterQuery(name, id) == stored {
			return answer, unavailable(name, "the operator of cluster %s has not answered within %s: it is not running, "+
				"is cut off, or is of a version that can't read logs", name, pull.AnswerWait)
		}
	}
}

func (h *Handler) unseal(sealed []byte) (answer pull.Answer, err error) {
	text, err := h.Open(sealed)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil {
		return answer, fmt.Errorf("decrypt the answer of a cluster's operator: %w", err)
	}
	return answer, nil
}

// end ends a query. If that fails, the query ends with its lease.
func (h *Handler) end(ctx context.Context, lease store.LeaseID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeTime)
	defer cancel()
	if err := h.Leases.Revoke(ctx, lease); err != nil {
		h.Logger.DebugContext(ctx, "a query to a cluster's operator ends with its lease", "error", err)
	}
}
