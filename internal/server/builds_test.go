package server_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/input/build/buildlog"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// TestBuildLog: the output comes from the node that builds the image of the object, and of no other.
func TestBuildLog(t *testing.T) {
	logs, err := buildlog.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	log, err := logs.Begin(buildlog.Name("prod-web", "abc"))
	if err != nil {
		t.Fatal(err)
	}
	log.Line("Step 1/1 : FROM scratch")
	log.End("built")
	// prod-web/x must not read the log of prod/web-x, which has the same name
	theirs, err := logs.Begin(buildlog.Name("prod-web-x", "abc"))
	if err != nil {
		t.Fatal(err)
	}
	theirs.End("theirs")
	another, err := buildlog.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	forged, err := another.Begin(buildlog.Name("prod-web", "abc"))
	if err != nil {
		t.Fatal(err)
	}
	forged.End("forged")
	fleet := &nodeapi.Fleet{}
	fleet.Add("a-hostile", builder{logs: another}) // it isn't asked, though it comes first
	fleet.Add("n1", builder{logs: logs})
	w := newWorld(t, func(o *server.Options) { o.Nodes = fleet })
	put := func(scope, name, node string) {
		object := deployment(name, `{"image":"web:1"}`)
		object.Scope = scope
		w.put(records.ObjectKey(object.Ref()), object)
		if node != "" {
			w.put(records.ImageStatusKey(node, object.Ref()),
				api.ImageStatus{Owner: object.Ref(), Node: node, Image: object.Ref().AppID() + ":abc", State: api.ImageBuilding})
		}
	}
	put("prod", "web", "n1")
	put("prod", "asked", "a-hostile")
	put("prod-web", "x", "n1")
	put("prod", "new", "")
	ask := func(path string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.http+"/v1/builds/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(body)
	}
	for _, query := range []string{"", "?follow=1"} {
		status, body := ask("prod/web/abc/log" + query)
		if want := `{"text":"Step 1/1 : FROM scratch"}` + "\n" + `{"text":"built"}` +
			"\n"; status != http.StatusOK || body != want {
			t.Errorf("%q: %d %s", query, status, body)
		}
	}
	for path, want := range map[string]int{
		"prod/web/def/log": http.StatusNotFound, "prod/web/..%2f..%2fx/log": http.StatusNotFound,
		"prod/web/abc/log?follow=x": http.StatusBadRequest,
		"prod/web-x/abc/log":        http.StatusNotFound, "prod/gone/abc/log": http.StatusNotFound,
		"prod/asked/abc/log": http.StatusNotFound,
		"prod/new/abc/log":   http.StatusServiceUnavailable,
	} {
		if status, body := ask(path); status != want || !strings.Contains(body, "title") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// builder is a node with the output of builds.
type builder struct {
	nodeapi.Node
	logs *buildlog.Logs
}

// BuildLog implements nodeapi.Node.
func (b builder) BuildLog(ctx context.Context, called string, follow bool, each func(string) error) error {
	return b.logs.Read(ctx, called, follow, each)
}
