package clusterapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// asking is a call of Ask under way.
type asking struct {
	answer pull.Answer
	err    error
	done   chan struct{}
	took   time.Duration
}

func (h *harness) ask(ctx context.Context, of *Handler, q pull.Query) *asking {
	a := &asking{done: make(chan struct{})}
	began := time.Now()
	go func() {
		a.answer, a.err = of.Ask(ctx, "", instance("cloud", 1).Ref(), q)
		a.took = time.Since(began)
		close(a.done)
	}()
	synctest.Wait()
	return a
}

// sent requests jobs for an operator that has none, and returns the queries in the answer.
func (h *harness) sent(token string, wait int) []pull.Query {
	h.Helper()
	got := h.call(h.ctx, token, "GET", fmt.Sprintf("%s?wait=%d", pull.JobsPath, wait), nil)
	var jobs pull.Jobs
	if err := json.Unmarshal(got.body, &jobs); err != nil || got.status != http.StatusOK || len(jobs.Jobs) > 0 {
		h.Fatalf("poll: %d %s", got.status, got.body)
	}
	return jobs.Queries
}

// installed returns the token of a cluster that has an application.
func (h *harness) installed() string {
	h.Helper()
	token := h.registered("east")
	h.put(instance("cloud", 1))
	job := h.poll(token, 30)[0]
	h.want(204, "", h.call(h.ctx, token, "POST", path(job, "ack"), nil))
	h.want(204, "", h.call(h.ctx, token, "POST", path(job, "result"), pull.Result{Outcome: pull.OutcomeSucceeded}))
	return token
}

func answerPath(id string) string { return pull.QueriesPath + "/" + id + "/answer" }

// dump returns all values of the store, as they lie there.
func (h *harness) dump() string {
	h.Helper()
	page, err := h.store.List(h.ctx, "/", store.ListOptions{})
	if err != nil {
		h.Fatal(err)
	}
	var all strings.Builder
	for _, entry := range page.Entries {
		fmt.Fprintf(&all, "%s %s\n", entry.Key, entry.Value)
	}
	return all.String()
}

func printed(text string) pull.Answer {
	return pull.Answer{Outputs: []pull.Output{{Pod: "web-1", Container: "app", Lines: []pull.OutputLine{
		{At: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), Text: text}}}}}
}

// TestAsk: a waiting request for jobs gets the query at once, signed for its cluster and bound to the object. The
// answer arrives, is encrypted in the store, and nothing of the query is left afterwards.
func TestAsk(t *testing.T) {
	inHarness(t, func(h *harness) {
		token := h.installed()
		found := make(chan []pull.Query)
		go func() { found <- h.sent(token, 300) }()
		time.Sleep(42 * time.Second)
		began := time.Now()
		a := h.ask(h.ctx, h.handler, pull.Query{Pod: "web-1", Container: "app", Tail: 70_000, Previous: true})
		queries := <-found
		if len(queries) != 1 || time.Since(began) > time.Second {
			t.Fatalf("%d queries after %s", len(queries), time.Since(began))
		}
		q := queries[0]
		keys := pull.PublicKeys(clusterjob.JobKeys(h.handler.MAC, api.ClusterAccess{UID: "uid-east"})...)
		if err := pull.VerifyQuery(q, "east", keys); err != nil {
			t.Error(err)
		}
		want := pull.Query{ID: q.ID, Namespace: "org", Name: "cloud", Object: "uid-cloud", Pod: "web-1", Container: "app",
			Tail: pull.MaxTail, Previous: true, CreatedAt: began.UTC(), ExpiresAt: began.Add(pull.QueryLife).UTC(),
			Signature: q.Signature}
		if diff := cmp.Diff(want, q); diff != "" {
			t.Error(diff)
		}
		seen := make(chan string, 1)
		watch := h.store.Watch(h.ctx, records.ClusterQueriesPrefix, 0)
		h.want(204, "", h.call(h.ctx, token, "POST", answerPath(q.ID), printed("the password is hunter2")))
		batch := <-watch.Batches()
		seen <- string(batch.Events[0].Value)
		<-a.done
		if a.err != nil {
			t.Fatal(a.err)
		}
		if diff := cmp.Diff(printed("the password is hunter2"), a.answer); diff != "" {
			t.Error(diff)
		}
		if stored := <-seen; strings.Contains(stored, "hunter2") || !strings.Contains(stored, `"answer":`) {
			t.Errorf("stored: %s", stored)
		}
		if all := h.dump(); strings.Contains(all, records.ClusterQueriesPrefix) {
			t.Errorf("a query is left:\n%s", all)
		}
		h.want(404, "NotFound", h.call(h.ctx, token, "POST", answerPath(q.ID), printed("again")))
	})
}

// TestAskThroughAnotherServer: the operator gets the query from one server and answers to it, while another one asks.
func TestAskThroughAnotherServer(t *testing.T) {
	inHarness(t, func(h *harness) {
		token := h.installed()
		other := New(h.handler.Options)
		a := h.ask(h.ctx, other, pull.Query{})
		queries := h.sent(token, 5)
		if len(queries) != 1 {
			t.Fatalf("%d queries", len(queries))
		}
		h.want(204, "", h.call(h.ctx, token, "POST", answerPath(queries[0].ID), printed("x")))
		if <-a.done; a.err != nil || len(a.answer.Outputs) != 1 {
			t.Errorf("%+v, %v", a.answer, a.err)
		}
	})
}

// TestForeignAnswers: an answer counts for a query of the cluster that was asked, once, within its bounds.
func TestForeignAnswers(t *testing.T) {
	inHarness(t, func(h *harness) {
		token, other := h.installed(), h.registered("west")
		a := h.ask(h.ctx, h.handler, pull.Query{})
		id := h.sent(token, 5)[0].ID
		if got := h.sent(other, 5); len(got) > 0 {
			t.Errorf("another cluster is sent %+v", got)
		}
		answer := func(token, id string, body any) answer { return h.call(h.ctx, token, "POST", answerPath(id), body) }
		h.want(404, "NotFound", answer(token, "never-asked", printed("x")))
		h.want(404, "NotFound", answer(other, id, printed("x")))
		h.want(401, "Unauthorized", answer("vwksp-agt-guess", id, printed("x")))
		h.want(413, "TooLarge", answer(token, id, printed(strings.Repeat("x", pull.MaxAnswer))))
		h.want(400, "InvalidJSON", answer(token, id, "{"))
		for name, wrong := range map[string]pull.Answer{
			"pod":       {Outputs: []pull.Output{{Pod: "a\x1b[2J", Container: "app"}}},
			"container": {Outputs: []pull.Output{{Pod: "a", Container: "a/b"}}},
			"note":      {Notes: []string{strings.Repeat("x", maxNote+1)}},
			"notes":     {Notes: make([]string, maxNotes+1)},
			"refusal":   {Refusal: &pull.Refusal{Message: strings.Repeat("x", maxNote+1)}},
			"outputs":   {Outputs: make([]pull.Output, pull.MaxOutputs+1)},
			"lines":     {Outputs: []pull.Output{{Pod: "a", Container: "b", Lines: make([]pull.OutputLine, pull.MaxTail+1)}}},
		} {
			if got := answer(token, id, wrong); got.status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", name, got.status, got.body)
			}
		}
		select {
		case <-a.done:
			t.Fatalf("one of these counts: %+v, %v", a.answer, a.err)
		default:
		}
		h.want(204, "", answer(token, id, printed("x")))
		if <-a.done; a.err != nil {
			t.Error(a.err)
		}
	})
}

// TestASecondAnswerIsRefused: the first answer is the one that is read.
func TestASecondAnswerIsRefused(t *testing.T) {
	inHarness(t, func(h *harness) {
		token := h.installed()
		key := records.ClusterQueryKey("east", "q")
		lease, err := h.store.Grant(h.ctx, pull.QueryLife)
		if err != nil {
			t.Fatal(err)
		}
		_, err = records.NewTxn("test").PutLeased(key, records.ClusterQuery{Query: pull.Query{ID: "q"}, Lease: lease}, lease).
			Commit(h.ctx, h.store)
		if err != nil {
			t.Fatal(err)
		}
		h.want(204, "", h.call(h.ctx, token, "POST", answerPath("q"), printed("first")))
		h.want(409, "Closed", h.call(h.ctx, token, "POST", answerPath("q"), printed("second")))
		time.Sleep(pull.QueryLife + time.Second) // the server that asked the query has died
		h.want(404, "NotFound", h.call(h.ctx, token, "POST", answerPath("q"), printed("third")))
	})
}

// TestUnansweredQueries: an unanswered query is sent again, and ends with an error that has the next step. A query to a
// cluster that doesn't answer, or that has too many, fails in the same way without being sent.
func TestUnansweredQueries(t *testing.T) {
	inHarness(t, func(h *harness) {
		problem := func(a *asking, status int, want string) {
			t.Helper()
			var got *api.Problem
			if <-a.done; !errors.As(a.err, &got) || got.Status != status || !strings.Contains(got.Detail, want) || got.Next == "" {
				t.Errorf("%v, want %d and %q", a.err, status, want)
			}
		}
		problem(h.ask(h.ctx, h.handler, pull.Query{}), 404, "there is no applicationinstance/org/cloud")
		h.put(instance("cloud", 1))
		problem(h.ask(h.ctx, h.handler, pull.Query{}), 503, "no operator of cluster east has registered")
		token := h.installed()
		problem(h.ask(h.ctx, h.handler, pull.Query{Pod: "a/b"}), 400, "no pod can have this name")
		problem(h.ask(h.ctx, h.handler, pull.Query{Container: "a\nb"}), 400, "no container can have this name")
		a := h.ask(h.ctx, h.handler, pull.Query{})
		first, began := h.sent(token, 30), time.Now()
		again := h.sent(token, 30)
		if len(first) != 1 || len(again) != 1 || first[0].ID != again[0].ID || time.Since(began) != sendAgain {
			t.Errorf("%d queries, then %d after %s", len(first), len(again), time.Since(began))
		}
		problem(a, 503, "has not answered within 30s")
		if a.took != pull.AnswerWait {
			t.Errorf("after %s", a.took)
		}
		if all := h.dump(); strings.Contains(all, records.ClusterQueriesPrefix) {
			t.Errorf("a query is left:\n%s", all)
		}
		ctx, cancel := context.WithCancel(h.ctx)
		var open []*asking
		for range maxQueries {
			open = append(open, h.ask(ctx, h.handler, pull.Query{}))
		}
		problem(h.ask(h.ctx, h.handler, pull.Query{}), 429, "wait for an answer")
		cancel()
		for _, a := range open {
			<-a.done
		}
		synctest.Wait()
		time.Sleep(clusterjob.ContactGrace + time.Minute) // the operator falls silent
		problem(h.ask(h.ctx, h.handler, pull.Query{}), 503, "cluster east is not connected")
	})
}
