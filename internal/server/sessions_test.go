package server_test

import (
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// TestRevokingEndsWhatIsOpen: a watch, events, followed logs, a command and a wait end, each with the reason. Requests
// of other tokens continue.
func TestRevokingEndsWhatIsOpen(t *testing.T) {
	for name, end := range map[string]func(w *world){
		"revoked":  func(w *world) { w.ask(token, "DELETE", "/v1/tokens/carol", "") },
		"replaced": func(w *world) { w.put(records.AccessTokenKey("carol"), records.AccessToken{}) },
		"expires":  func(*world) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.apply("web", `{"image":"a:1"}`)
			w.put(records.ReleaseKey(ref("web"), "v1"), api.Release{ID: "v1", Spec: []byte(`{"image":"a:1"}`)})
			pod := w.running("web", "aaaaaaaa", true)
			w.containers.set(pod.ID, &fakeLog{lines: []runtime.LogLine{line(1, "hello")}, more: make(chan runtime.LogLine)})
			w.containers.execs = func(runtime.ExecOptions) (runtime.Exec, error) { return newEcho(0), nil }
			life := time.Hour
			if name == "expires" {
				life = 2 * time.Second
			}
			carol := w.person("carol", api.Deployer, life, "prod")
			other := w.follow(w.person("dora", api.Viewer, time.Hour), "/v1/objects/deployment?watch=1")
			streams := map[string]*followed{
				"watch": w.follow(carol, "/v1/objects/deployment?watch=1"),
				"logs":  w.follow(carol, "/v1/logs?name=web&follow=1"),
			}
			in, typed := io.Pipe()
			defer typed.Close()
			ran := make(chan error, 1)
			go func() {
				_, err := w.dial(w.http, carol).Exec(t.Context(), pod.ContainerName(), api.ExecRequest{Command: []string{"cat"}},
					client.ExecIO{Stdin: in, Stdout: io.Discard, Stderr: io.Discard})
				ran <- err
			}()
			waited := make(chan string, 1)
			revision := w.view.Revision()
			go func() {
				_, body := w.ask(carol, "POST", "/v1/await", `{"since":`+strconv.FormatInt(revision, 10)+
					`,"objects":[{"kind":"deployment","scope":"prod","name":"web","revision":1}]}`)
				waited <- body
			}()
			w.untilOpen(`"watch"} 2`, `"logs"} 1`, `"exec"} 1`)
			end(w)
			const why = "the token was revoked, or has expired"
			for stream, open := range streams {
				if text := open.rest(); !strings.Contains(text, why) {
					t.Errorf("%s ends with\n%s", stream, text)
				}
			}
			if err := <-ran; err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("the command: %v", err)
			}
			if body := <-waited; name != "revoked" && name != "replaced" && !strings.Contains(body, why) {
				t.Errorf("the wait: %s", body)
			}
			if response, _ := w.ask(carol, "GET", "/v1/pods", ""); response.StatusCode != 401 {
				t.Errorf("afterwards: %s", response.Status)
			}
			w.ask(token, "DELETE", "/v1/tokens/dora", "")
			if text := other.rest(); !strings.Contains(text, `"name":"web"`) {
				t.Errorf("the watch of another was\n%s", text)
			}
		})
	}
}

// TestCallsNameThePerson: in the audit, and in the stored records.
func TestCallsNameThePerson(t *testing.T) {
	audit := &fakeAuditor{}
	w := newWorld(t, func(o *server.Options) { o.Auditor = audit })
	alice := w.person("alice", api.Deployer, time.Hour, "prod")
	w.ask(alice, "POST", "/v1/apply", `{"kind":"job","scope":"prod","name":"a","spec":{"image":"a"}}`)
	w.ask(alice, "POST", "/v1/nodes/tokens", "{}")
	w.ask(token, "POST", "/v1/objects/-/-/none/restart", "")
	w.ask(api.AccessTokenPrefix+".alice.guess", "POST", "/v1/objects/-/-/none/restart", "")
	audit.mu.Lock()
	defer audit.mu.Unlock()
	var got []string
	for _, call := range audit.calls {
		got = append(got, call.Path+" "+api.ActorName(call.Actor)+" "+strconv.Itoa(call.Status)+" "+call.Problem)
	}
	want := "/v1/apply alice 200 |/v1/nodes/tokens alice 403 Forbidden|/v1/objects/-/-/none/restart token from 127.0.0.1 404 NotFound"
	if strings.Join(got, "|") != want {
		t.Errorf("audited are %q", got)
	}
	if len(audit.calls) > 0 && audit.calls[0].Actor != "alice (token from 127.0.0.1)" {
		t.Errorf("the actor is %q", audit.calls[0].Actor)
	}
	if len(audit.foreign) != 1 || strings.Contains(audit.foreign[0].Actor, "alice") {
		t.Errorf("a guess is audited as %+v", audit.foreign)
	}
}
