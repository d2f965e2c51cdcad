package puller

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/tendtest"
)

// TestQueriesAreAnsweredOnce: a query is answered once, however often it is sent, and while an application becomes
// ready. If the connection of an operator is cut, its answer comes after it is sent again.
func TestQueriesAreAnsweredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var parts sync.WaitGroup
		s := &tend{Server: tendtest.Start(ctx, t, &parts, nil), ctx: ctx}
		cluster, secret, keys := newResources(), &kept{}, &texts{}
		w := &wire{handler: s.Handler}
		s.Put(api.Object{
			Kind: api.KindCluster, Scope: api.Unscoped, Name: "east", Spec: []byte("{}"),
			Metadata: api.Metadata{UID: "c1", Generation: 1},
		})
		token, _, err := s.Handler.Invite(ctx, "east", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.register(w, cluster, secret, keys, token); err != nil {
			t.Fatal(err)
		}
		a := s.operator(w, cluster, secret, keys)
		var mu sync.Mutex
		read := map[string]int{}
		a.Query = func(ctx context.Context, q pull.Query) pull.Answer {
			select {
			case <-time.After(15 * time.Second): // it is sent again meanwhile
			case <-ctx.Done():
			}
			mu.Lock()
			defer mu.Unlock()
			read[q.ID]++
			return pull.Answer{Notes: []string{"of " + q.Name}}
		}
		parts.Go(func() { _ = a.Run(ctx) })
		s.Put(instance(1))
		synctest.Wait()
		for range 2 {
			answer, err := s.Handler.Ask(ctx, "", instance(1).Ref(), pull.Query{})
			if err != nil || len(answer.Notes) != 1 || answer.Notes[0] != "of cloud" {
				t.Errorf("%+v, %v", answer, err)
			}
		}
		mu.Lock()
		if len(read) != 2 {
			t.Errorf("%d queries were read", len(read))
		}
		for id, times := range read {
			if times != 1 {
				t.Errorf("query %s was read %d times", id, times)
			}
		}
		mu.Unlock()
		cancel()
		parts.Wait()
	})
}

// TestQueriesAreBounded: of many queries, as many are taken as can wait, each once. The others are taken when there is
// room.
func TestQueriesAreBounded(t *testing.T) {
	q, now := newQueries(), time.Now()
	var many []pull.Query
	for i := range 3 * maxQueries {
		many = append(many, pull.Query{ID: string(rune('a' + i)), ExpiresAt: now.Add(pull.QueryLife)})
	}
	for range 3 {
		q.add(many, now)
	}
	taken := map[string]bool{}
	for len(q.waiting) > 0 {
		taken[(<-q.waiting).ID] = true
	}
	q.add(many, now)
	if len(taken) != maxQueries || len(q.waiting) != maxQueries || taken[(<-q.waiting).ID] {
		t.Errorf("%d were taken, then %d", len(taken), len(q.waiting))
	}
	q.add(nil, now.Add(2*pull.QueryLife))
	if len(q.taken) > 0 {
		t.Errorf("%d ids are remembered for ever", len(q.taken))
	}
}
