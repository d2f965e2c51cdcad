package server_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/coder/websocket"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// reporting passes on the calls that it gets.
type reporting struct {
	fakeAuditor
	calls chan api.AuditData
}

func (a *reporting) Record(d api.AuditData) { a.calls <- d }

// TestCallsOfPodsAreFiledByTheirObject: a command in a pod, its stop and its start name the pod and its object, also
// when they are refused; of a pod that isn't there the object isn't known.
func TestCallsOfPodsAreFiledByTheirObject(t *testing.T) {
	audit := &reporting{calls: make(chan api.AuditData, 10)}
	w := newWorld(t, func(o *server.Options) { o.Auditor = audit })
	w.apply("web", `{"image":"a"}`)
	<-audit.calls
	live, gone := w.running("web", "aaaaaaaa", true), w.running("web", "bbbbbbbb", true)
	gone.Desired = api.DesiredShutdown
	w.put(records.TaskKey(gone.ID), gone)
	running := newEcho(0)
	w.containers.execs = func(runtime.ExecOptions) (runtime.Exec, error) { return running, nil }

	conn, err := w.open(live.ContainerName())
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{`{"command":["true"],"stdin":true}`, `{"eof":true}`} {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	for err == nil {
		_, _, err = conn.Read(t.Context())
	}
	got := []api.AuditData{<-audit.calls}
	if _, err := w.open(gone.ContainerName()); err == nil {
		t.Error("a command ran in a pod that is stopped")
	}
	got = append(got, <-audit.calls)
	for _, path := range []string{live.ContainerName() + "/stop?freeze=1", live.ContainerName() + "/start",
		gone.ContainerName() + "/stop", "prod-web.none/stop"} {
		w.raw("POST", "/v1/pods/"+path, "", "")
		got = append(got, <-audit.calls)
	}
	var said []string
	for _, c := range got {
		said = append(said, fmt.Sprint(c.Pod, " of ", c.Kind, "/", c.Scope, "/", c.Name, " ", c.Status))
	}
	want := []string{
		"prod-web.aaaaaaaa of deployment/prod/web 101", "prod-web.bbbbbbbb of deployment/prod/web 409",
		"prod-web.aaaaaaaa of deployment/prod/web 200", "prod-web.aaaaaaaa of deployment/prod/web 200",
		"prod-web.bbbbbbbb of deployment/prod/web 409", "prod-web.none of // 404",
	}
	if !slices.Equal(said, want) {
		t.Errorf("audited are\n%q\nwant\n%q", said, want)
	}
}
