package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// newEventWorld returns a server whose log has some events, and their ids in order.
func newEventWorld(t *testing.T) (w *world, ids []string) {
	t.Helper()
	s := memory.New()
	t.Cleanup(func() { _ = s.Close() })
	recorder := eventlog.Record(s, func() *view.Snapshot { return nil }, time.Now)
	commit := func(verb, actor string, refs ...api.Ref) {
		ctx, txn := records.WithAuthor(t.Context(), records.Author{Verb: verb, Actor: actor, Manager: api.ManagerApply}),
			records.NewTxn("test")
		for _, ref := range refs {
			key := records.ObjectKey(ref)
			if verb == "delete" {
				txn.Delete(key)
				continue
			}
			txn.Put(key, api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
				Spec: json.RawMessage(`{"image":"` + verb + `"}`), Metadata: api.Metadata{UID: "u-" + ref.Name, Generation: 1}})
		}
		if _, err := txn.Commit(ctx, recorder); err != nil {
			t.Fatal(err)
		}
	}
	lab := api.Ref{Kind: api.KindLab, Scope: "prod", Name: "web"}
	commit("apply", "user ann (pid 7)", ref("web"), ref("api"))                                         // a, b
	commit("apply", "user bob (pid 8)", lab)                                                            // c
	commit("scale", "user ann (pid 9)", ref("web"))                                                     // d
	commit("apply", "user anna (pid 1)", api.Ref{Kind: api.KindJob, Scope: "staging", Name: "nightly"}) // e
	commit("delete", "user bob (pid 8)", ref("api"))                                                    // f
	page, err := s.List(t.Context(), records.EventsPrefix, store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	log := eventlog.New(eventlog.Options{Store: s, Prefix: records.EventsPrefix, Source: "/tend/clusters/test"})
	log.Restart()
	for _, e := range page.Entries {
		log.Put(e)
	}
	log.Reached(page.Revision)
	w = newWorld(t, func(o *server.Options) { o.Events = log })
	for range page.Revision { // so that none of its positions is in the future
		w.put(records.SchemaKey, "1")
	}
	read, err := log.Read(context.Background(), eventlog.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range read.Events {
		ids = append(ids, e.ID)
	}
	return w, ids
}

// TestEventFilters: each filter of /v1/events alone and together, in pages, from a position, and the newest ones.
func TestEventFilters(t *testing.T) {
	w, ids := newEventWorld(t)
	if len(ids) != 6 {
		t.Fatalf("the log has %v", ids)
	}
	letters := func(events []api.Event) string {
		var out strings.Builder
		for _, e := range events {
			for i, id := range ids {
				if id == e.ID {
					out.WriteByte(byte('a' + i))
				}
			}
		}
		return out.String()
	}
	for query, want := range map[string]string{
		"":                                            "abcdef",
		"scope=prod":                                  "abcdf",
		"scope=prod&name=web":                         "acd",
		"name=web":                                    "acd",
		"kind=deployment&scope=prod&name=web":         "ad",
		"kind=deployments&name=api":                   "bf",
		"kind=lab":                                    "c",
		"type=created":                                "abce",
		"type=deployment.updated":                     "d",
		"type=lab.created":                            "c",
		"type=labinstancerequest.created":             "c",
		"type=deleted,deployment.updated":             "df",
		"actor=user ann":                              "abd",
		"actor=user ann (pid 9)":                      "d",
		"actor=user an":                               "",
		"actor=user bob&type=deleted":                 "f",
		"scope=none":                                  "",
		"since=oldest&scope=staging":                  "e",
		"since=" + ids[1]:                             "cdef",
		"since=" + ids[0]:                             "bcdef",
		"since=" + ids[0] + "&type=created":           "bce",
		"limit=2":                                     "ab",
		"limit=1&scope=staging":                       "e",
		"last=1&limit=2":                              "ef",
		"last=1&limit=2&kind=deployment":              "df",
		"last=1&limit=1&scope=prod&name=web":          "d",
		"last=1&limit=9&type=created&kind=Deployment": "ab",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		values.Set("follow", "0")
		response, body := w.raw("GET", "/v1/events?"+values.Encode(), "", "")
		var page api.EventPage
		if err := json.Unmarshal([]byte(body), &page); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", query, body)
			continue
		}
		if got := letters(page.Events); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for query, status := range map[string]int{
		"kind=potato": 404, "since=x": 400, "limit=0": 400, "last=1&since=oldest": 400, "nonsense=1": 400,
		"since=99999999.0": 410, "since=99999999": 410,
	} {
		response, body := w.raw("GET", "/v1/events?follow=0&"+query, "", "")
		wantProblem(t, response, body, status)
	}
	response, body := w.raw("GET", "/v1/events?last=1", "", "")
	wantProblem(t, response, body, http.StatusBadRequest)
	response, body = w.raw("GET", "/v1/audit", "", "")
	wantProblem(t, response, body, http.StatusNotImplemented)
}

// TestEventPagesHaveEachEventOnce: read in pages of every size, also where a filter leaves most out.
func TestEventPagesHaveEachEventOnce(t *testing.T) {
	w, ids := newEventWorld(t)
	for limit := 1; limit <= len(ids); limit++ {
		for query, want := range map[string]int{"": 6, "&type=created": 4, "&scope=staging": 1} {
			since, got := "oldest", map[string]int{}
			for more := true; more; {
				_, body := w.raw("GET", fmt.Sprintf("/v1/events?follow=0&limit=%d&since=%s%s", limit, since, query), "", "")
				var page api.EventPage
				if err := json.Unmarshal([]byte(body), &page); err != nil || len(page.Events) > limit {
					t.Fatalf("%s, %v", body, err)
				}
				for _, e := range page.Events {
					got[e.ID]++
				}
				since, more = page.Next, page.More
			}
			for id, times := range got {
				if times != 1 {
					t.Errorf("in pages of %d%s %s comes %d times", limit, query, id, times)
				}
			}
			if len(got) != want {
				t.Errorf("in pages of %d%s there are %v", limit, query, got)
			}
		}
	}
}

// TestAStreamGoesOnFromTheLastID: the header of a client that reconnects wins over its first URL, and the filter
// counts.
func TestAStreamGoesOnFromTheLastID(t *testing.T) {
	w, ids := newEventWorld(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.http+
		"/v1/events?since=oldest&type=created", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Last-Event-ID", ids[1])
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var got []string
	for lines := bufio.NewScanner(response.Body); len(got) < 3 && lines.Scan(); {
		if id, found := strings.CutPrefix(lines.Text(), "id: "); found {
			got = append(got, id)
		}
	}
	if len(got) != 3 || got[0] != ids[2] || got[1] != ids[4] || strings.Contains(got[2], ".") && got[2] != ids[5] {
		t.Errorf("the stream has %v, want %s, %s and a bookmark", got, ids[2], ids[4])
	}
}
