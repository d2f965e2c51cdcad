package puller

import (
	"context"
	"net/http"
	"sync"
	"time"

	"tend.dev/tend/api/pull"
)

// The bounds of queries: how many are answered at the same time, how many wait, and how many ids are remembered.
const (
	answering  = 2
	maxQueries = 16
	maxIDs     = 1000
)

// queries holds the queries to answer. Each id is taken once: a second query with it is a repetition, or a replay.
type queries struct {
	waiting chan pull.Query

	mu sync.Mutex
	// taken are the ids of queries that were taken, with the time until which they would count.
	taken map[string]time.Time
}

func newQueries() *queries {
	return &queries{waiting: make(chan pull.Query, maxQueries), taken: map[string]time.Time{}}
}

// add takes queries that were not taken before. One for which there is no room comes again.
func (q *queries) add(sent []pull.Query, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, until := range q.taken {
		if now.After(until) {
			delete(q.taken, id)
		}
	}
	for _, query := range sent {
		if _, again := q.taken[query.ID]; again || len(q.taken) >= maxIDs {
			continue
		}
		select {
		case q.waiting <- query:
			q.taken[query.ID] = query.ExpiresAt
		default:
		}
	}
}

// answerQueries answers queries, one after the other, until ctx ends. An answer that can't be sent is lost: the person
// who asked reads that there is none.
func (p *Puller) answerQueries(ctx context.Context) error {
	for {
		select {
		case query := <-p.queries.waiting:
			if err := p.answer(ctx, query); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// answer answers a query. Its error ends the puller.
func (p *Puller) answer(ctx context.Context, query pull.Query) error {
	ctx, cancel := context.WithTimeout(ctx, pull.AnswerWait)
	defer cancel()
	reading, stop := context.WithTimeout(ctx, pull.AnswerTime)
	defer stop()
	answer := p.Query(reading, query)
	err := p.request(ctx, func(token string) error { return p.client.Answer(ctx, token, query.ID, answer) })
	switch status := statusOf(err); {
	case isEnd(err):
		return err
	case err == nil, status == http.StatusNotFound, status == http.StatusConflict: // nobody waits any more
	default:
		p.Logger.WarnContext(ctx, "an answer can't be sent", "error", err)
	}
	return nil
}
