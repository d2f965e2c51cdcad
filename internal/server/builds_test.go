package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tend.dev/tend/internal/build/journal"
	"tend.dev/tend/internal/nodeapi"
	"tend.dev/tend/internal/server"
)

func TestBuildLog(t *testing.T) {
	logs, err := journal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	log, err := logs.Begin(journal.Name("prod-web", "abc"))
	if err != nil {
		t.Fatal(err)
	}
	log.Line("Step 1/1 : FROM scratch")
	log.End("built")
	ask := func(o server.Options, path string) (int, string) {
		recorder := httptest.NewRecorder()
		server.New(o).Handler(true).ServeHTTP(recorder, httptest.NewRequest("GET", "/v1/builds/"+path, nil))
		return recorder.Code, recorder.Body.String()
	}
	for _, query := range []string{"", "?follow=1"} {
		status, body := ask(withBuilds(logs), "prod/web/abc/log"+query)
		if want := `{"text":"Step 1/1 : FROM scratch"}` + "\n" + `{"text":"built"}` + "\n"; status != http.StatusOK || body != want {
			t.Errorf("%q: %d %s", query, status, body)
		}
	}
	for path, want := range map[string]int{
		"prod/web/def/log": http.StatusNotFound, "prod/web/..%2f..%2fx/log": http.StatusNotFound, "prod/web/abc/log?follow=x": http.StatusBadRequest,
	} {
		if status, body := ask(withBuilds(logs), path); status != want || !strings.Contains(body, "title") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _ := ask(server.Options{}, "prod/web/abc/log"); status != http.StatusServiceUnavailable {
		t.Errorf("without builds: %d", status)
	}
}

// builder is a node with the output of builds.
type builder struct {
	nodeapi.Node
	logs *journal.Journal
}

func (b builder) BuildLog(ctx context.Context, called string, follow bool, each func(string) error) error {
	return b.logs.Read(ctx, called, follow, each)
}

func withBuilds(logs *journal.Journal) server.Options {
	fleet := &nodeapi.Fleet{}
	fleet.Add("n1", builder{logs: logs})
	return server.Options{Nodes: fleet}
}
