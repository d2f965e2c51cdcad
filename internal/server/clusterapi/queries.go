package clusterapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/store/records"
)

// The bounds of queries, and of the words in an answer.
const (
	// maxQueries limits the unanswered queries of a cluster, maxTokenQueries those of one access token among them.
	maxQueries, maxTokenQueries = 8, 2
	// sendAgain is the time after which an unanswered query is sent again: the operator may not have received it.
	sendAgain = 10 * time.Second
	maxNotes  = 20
	maxNote   = 500
)

// sentQueries remembers when this server sent which query.
type sentQueries struct {
	mu sync.Mutex
	at map[string]time.Time
}

// due returns the queries to send now, and records them as sent; if there are none, the time at which the next one may
// be due.
func (q *sentQueries) due(all []records.Read[records.ClusterQuery], now time.Time) (due []pull.Query, next time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, at := range q.at {
		if now.Sub(at) > 2*pull.QueryLife {
			delete(q.at, id)
		}
	}
	for _, read := range all {
		query := read.Value.Query
		if read.Value.Answer != nil || !now.Before(query.ExpiresAt) {
			continue
		}
		if again := q.at[query.ID].Add(sendAgain); now.Before(again) {
			if next.IsZero() || again.Before(next) {
				next = again
			}
			continue
		}
		q.at[query.ID] = now
		due = append(due, query)
	}
	return due, next
}

// answerQuery stores the answer to a query, encrypted, for the server that asked it.
func (h *Handler) answerQuery(r *http.Request, by *caller, s records.Snapshot) (any, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, pull.MaxAnswer)
	var answer pull.Answer
	if err := read(r, &answer); err != nil {
		return nil, err
	}
	if err := check(answer); err != nil {
		return nil, err
	}
	sealed, err := h.seal(answer)
	if err != nil {
		return nil, err
	}
	_, err = h.change(r.Context(), s, func(s records.Snapshot) (*records.Txn, error) {
		stored := s.ClusterQuery(by.cluster, r.PathValue("id"))
		switch {
		case !stored.Exists():
			return nil, &failure{http.StatusNotFound, "NotFound", "nobody has asked this, or nobody waits any more", 0}
		case stored.Value.Answer != nil:
			return nil, &failure{http.StatusConflict, "Closed", "the query has an answer", 0}
		}
		next, key := *stored.Value, records.ClusterQueryKey(by.cluster, stored.Value.Query.ID)
		next.Answer = sealed
		txn := records.NewTxn("cluster.answer").If(key, stored.Modified).PutLeased(key, next, next.Lease)
		return h.heard(s, txn, by, r.UserAgent(), nil), nil
	})
	return nil, err
}

func (h *Handler) seal(answer pull.Answer) ([]byte, error) {
	text, err := json.Marshal(answer)
	if err == nil {
		text, err = h.Seal(text)
	}
	if err != nil {
		return nil, fmt.Errorf("encrypt an answer: %w", err)
	}
	return text, nil
}

// resourceName matches the names of pods and containers.
var resourceName = pattern.Lazy(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// check refuses an answer that no operator would send, since its text is shown to people.
func check(answer pull.Answer) error {
	if len(answer.Outputs) > pull.MaxOutputs || len(answer.Notes) > maxNotes {
		return invalid("InvalidAnswer", "%d outputs and %d notes, at most %d and %d", len(answer.Outputs),
			len(answer.Notes), pull.MaxOutputs, maxNotes)
	}
	for _, output := range answer.Outputs {
		if !resourceName().MatchString(output.Pod) || !resourceName().MatchString(output.Container) {
			return invalid("InvalidAnswer", "%.40q and %.40q are not the names of a pod and of its container",
				output.Pod, output.Container)
		}
		if len(output.Lines) > pull.MaxTail || len(output.Error) > maxNote {
			return invalid("InvalidAnswer", "%s has %d lines and an error of %d bytes, at most %d and %d", output.Pod,
				len(output.Lines), len(output.Error), pull.MaxTail, maxNote)
		}
	}
	texts := answer.Notes
	if answer.Refusal != nil {
		texts = append(slices.Clone(texts), answer.Refusal.Message)
	}
	if i := slices.IndexFunc(texts, func(text string) bool { return len(text) > maxNote }); i >= 0 {
		return invalid("InvalidAnswer", "a note or a refusal has %d bytes, at most %d", len(texts[i]), maxNote)
	}
	return nil
}

// CheckQuery refuses names of a pod and of a container that there can't be.
func CheckQuery(q pull.Query) error {
	for what, name := range map[string]string{"pod": q.Pod, "container": q.Container} {
		if name != "" && !resourceName().MatchString(name) {
			return &api.Problem{Status: http.StatusBadRequest, Detail: fmt.Sprintf("%s %.80q: no %[1]s can have this name", what, name),
				Next: "leave it out to see the names of all"}
		}
	}
	return nil
}
