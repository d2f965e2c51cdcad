package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestClient compiles the client of the server's document with programs that use it, and runs them against servers that
// record the requests.
func TestClient(t *testing.T) {
	folder := newProject(t)
	if output, err := compile(t, folder, "client.ts", "example.ts", "forms.ts", "shown.ts"); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	t.Run("example", func(t *testing.T) { testExample(t, folder) })
	t.Run("refused", func(t *testing.T) { testRefused(t, folder) })
	t.Run("forms", func(t *testing.T) { testForms(t, folder) })
}

// testExample runs the example.
func testExample(t *testing.T, folder string) {
	by := answers{
		"POST /v1/apply": reply(200, "application/json",
			`{"objects": [{"kind": "deployment", "scope": "prod", "name": "web", "action": "created"}]}`),
		"GET /v1/objects/deployment": reply(200, "application/json; charset=utf-8",
			`{"revision": 7, "items": [{"kind": "deployment", "name": "web", "metadata": {"generation": 3}}]}`),
	}
	server := serve(t, by)
	by["GET /v1/events"] = server.stream(`{"type": "tend.bookmark"}`, `{"type": "deployment.updated", "subject": "web"}`,
		`{"type": "deployment.reconciled"}`, `{"type": "deployment.deleted"}`)
	got := execute(t, folder, "example", `await program.deploy(client(process.argv[2]), "web:2");`, server.URL+"/")
	compare(t, "output", got, `deployment/prod/web: created
web, generation 3
tend.bookmark 
deployment.updated web
deployment.reconciled 
`)
	server.Close() // waits for the stream, which the client must have left
	compare(t, "requests", server.asked(), `POST /v1/apply?force_conflicts=true application/json `+
		`{"kind":"deployment","scope":"prod","name":"web","spec":{"image":"web:2","replicas":2}}
GET /v1/objects/deployment?scope=prod
GET /v1/events?since=7&kind=deployment&scope=prod&name=web
closed /v1/events`)
}

// testRefused: the example prints why nothing was applied, and sends no further request.
func testRefused(t *testing.T, folder string) {
	server := serve(t, answers{"POST /v1/apply": problem(409, "Conflict", "web:2 is owned by ada")})
	got := execute(t, folder, "example", `await program.deploy(client(process.argv[2]), "web:2");`, server.URL)
	compare(t, "output", got, "not applied: 409 Conflict: web:2 is owned by ada\nnext: tend get\n")
	if asked := server.asked(); strings.Count(asked, "\n") > 0 {
		t.Errorf("it asked on: %s", asked)
	}
}

// testForms calls an operation of each form, and calls that must fail.
func testForms(t *testing.T, folder string) {
	by := answers{
		"PUT /v1/blobs/sha256%3A1": reply(204, "", ""),
		"GET /v1/blobs/sha256%3A1": reply(200, "application/octet-stream", "\x00\xff"),
		"HEAD /v1/blobs/a%2Fb%3Fc": reply(200, "application/octet-stream", ""),
		"HEAD /v1/blobs/absent":    problem(404, "Not Found", "no such file"),
		"GET /metrics":             reply(200, "text/plain; version=0.0.4", "up 1"),
		"GET /readyz":              reply(503, "application/json", `{"ready": false, "missing": ["store"]}`),
		"POST /v1/apply":           reply(200, "application/json", `{"objects": null}`),
		"GET /v1/pods/cut/logs":    reply(200, "application/jsonl", "{\"pod\":\"cut\",\"text\":\"a\"}\n{\"pod\":\"cu"),
		"GET /v1/events":           reply(200, "application/jsonl", "{}\n"),
	}
	server := serve(t, by)
	by["GET /v1/pods/open/logs"] = server.stream(`{"pod":"open","text":"b"}`)
	impostor := serve(t, answers{"GET /version": reply(http.StatusBadGateway, "text/html", "<h1>Bad Gateway</h1>\n")})
	got := execute(t, folder, "forms",
		`await program.forms(client(process.argv[2]), client(process.argv[3]));`, server.URL, impostor.URL)
	compare(t, "output", got, `drop by drop wöb
drop by drop 2
bytes Uint8Array(2) [ 0, 255 ]
text up 1
not ready { ready: false, missing: [ 'store' ] }
manifest in YAML { objects: null }
socket ws`+strings.TrimPrefix(server.URL, "http")+`/v1/pods/web.1/exec
no body, no problem: UnexpectedAnswerError: HEAD /v1/blobs/absent failed (status 404) [404 ]
an answer of a proxy: UnexpectedAnswerError: GET /version failed (status 502) [502 <h1>Bad Gateway</h1>]
a list, where lines come: UnexpectedAnswerError: want an answer in application/json, not application/jsonl (status 200) [200 ]
a way out of the path: TypeError: ".." can't be part of a path: /v1/pods/…
an empty name: TypeError: "" can't be part of a path: /v1/pods/…
line a
a line without its end: Error: the stream ended within a line
line b
an end by the caller: AbortError: This operation was aborted
`)
	server.Close()
	compare(t, "requests", server.asked(), `PUT /v1/blobs/sha256%3A1 application/octet-stream `+"\x00\xff"+`
GET /v1/blobs/sha256%3A1
HEAD /v1/blobs/a%2Fb%3Fc
GET /metrics
GET /readyz
POST /v1/apply?dry_run=true&set=%C3%BC%26%3D application/yaml kind: deployment

HEAD /v1/blobs/absent
GET /v1/events?kind=deployment
GET /v1/pods/cut/logs
GET /v1/pods/open/logs
closed /v1/pods/open/logs`)
}

// execute runs a call of a compiled program's export, with the addresses of servers.
func execute(t *testing.T, folder, program, call string, servers ...string) string {
	t.Helper()
	main := `import * as program from "./` + program + `.js";
import { Client } from "./client.js";
const client = (server) => new Client({ server, token: "secret" });
` + call
	for name, text := range map[string]string{"main.js": main, "package.json": `{"type": "module"}`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // node waits while a stream is open
	defer cancel()
	command := exec.CommandContext(ctx, "node", append([]string{"main.js"}, servers...)...)
	command.Dir, command.WaitDelay = folder, time.Second
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, output)
	}
	return string(output)
}

func compare(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}
