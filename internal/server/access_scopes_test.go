package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// twoScopes returns a server with an object and a pod in each of prod and bank, and a token for prod and shop.
func twoScopes(t *testing.T) (w *world, viewer string) {
	t.Helper()
	w = newWorld(t)
	w.apply("web", `{"image":"a:1"}`)
	w.running("web", "aaaaaaaa", true)
	vault := deployment("vault", `{"image":"a:1","env":{"PIN":"4711"}}`)
	vault.Scope = "bank"
	if _, err := w.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{vault}}); err != nil {
		t.Fatal(err)
	}
	task := api.Task{ID: "task-b", Kind: api.KindDeployment, Scope: "bank", Name: "vault", Slot: "bbbbbbbb", Node: "n1",
		Desired: api.DesiredRunning}
	w.put(records.TaskKey(task.ID), task)
	w.put(records.SlotKey(task.Owner(), task.Slot), task.ID)
	for _, scope := range []string{"prod", "bank"} {
		run := api.Run{ID: "r-" + scope, Kind: api.KindJob, Scope: scope, Name: "nightly"}
		w.put(records.RunKey(run.Owner(), run.ID), run)
	}
	return w, w.person("alice", api.Viewer, time.Hour, "prod", "shop")
}

// TestListsHaveTheScopesOfTheToken: and nothing of other scopes, whatever the request selects.
func TestListsHaveTheScopesOfTheToken(t *testing.T) {
	w, alice := twoScopes(t)
	for _, path := range []string{
		"/v1/objects/deployment", "/v1/pods", "/v1/runs", "/v1/pods?kind=deployment", "/v1/pods?node=n1", "/v1/stats",
		"/v1/objects/deployment?scope=prod",
	} {
		response, body := w.ask(alice, "GET", path, "")
		if response.StatusCode != http.StatusOK || strings.Contains(body, "bank") ||
			!strings.Contains(path, "stats") && !strings.Contains(body, "prod") {
			t.Errorf("%s: %s: %s", path, response.Status, body)
		}
	}
	for _, path := range []string{
		"/v1/objects/deployment?scope=bank", "/v1/pods?scope=bank", "/v1/runs?scope=bank", "/v1/stats?scope=bank",
		"/v1/events?scope=bank&follow=0",
		"/v1/objects/deployment?scope=bank&watch=1", "/v1/objects/deployment/bank/vault", "/v1/logs?name=vault",
		"/v1/releases?name=vault",
		"/v1/pods/bank-vault.bbbbbbbb", "/v1/pods/bank-vault.none", "/v1/pods/bank-vault.bbbbbbbb/logs",
		"/v1/config?scope=bank", "/v1/objects/sync/_/x",
	} {
		response, body := w.ask(alice, "GET", path, "")
		if forbidden(t, response, body); strings.Contains(body, "4711") {
			t.Errorf("%s: %s", path, body)
		}
	}
	response, body := w.ask(alice, "POST", "/v1/await",
		`{"objects":[{"kind":"deployment","scope":"prod","name":"web","revision":1},{"kind":"deployment","scope":"bank","name":"vault","revision":1}]}`)
	forbidden(t, response, body)
}

// TestAWatchHasTheScopesOfTheToken: it has no events of other scopes.
func TestAWatchHasTheScopesOfTheToken(t *testing.T) {
	w, alice := twoScopes(t)
	watch := w.follow(alice, "/v1/objects/deployment?watch=1")
	vault := deployment("vault", `{"image":"a:2"}`)
	vault.Scope = "bank"
	if _, err := w.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{vault}}); err != nil {
		t.Fatal(err)
	}
	w.apply("web", `{"image":"a:3"}`)
	if text := watch.until(`"a:3"`); strings.Contains(text, "bank") {
		t.Errorf("it is\n%s", text)
	}
}

// TestEventsHaveTheScopesOfTheToken: in pages and as a stream.
func TestEventsHaveTheScopesOfTheToken(t *testing.T) {
	w, _ := newEventWorld(t)
	bob := w.person("bob", api.Viewer, time.Hour, "staging", "shop")
	response, body := w.ask(bob, "GET", "/v1/events?follow=0&since=oldest", "")
	var page api.EventPage
	if err := json.Unmarshal([]byte(body), &page); err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(err, body)
	}
	if len(page.Events) != 1 || strings.Contains(body, "prod") ||
		!strings.Contains(string(page.Events[0].Data), "nightly") {
		t.Errorf("they are %s", body)
	}
	if text := w.follow(bob, "/v1/events?since=oldest").until(api.EventBookmark); strings.Contains(text, "prod") ||
		!strings.Contains(text, "nightly") {
		t.Errorf("the stream is\n%s", text)
	}
}
