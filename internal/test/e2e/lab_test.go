//go:build integration

package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// lab reads a lab's status.
func (m *machine) lab(name string) (status api.LabStatus) {
	m.Helper()
	object, err := m.client.Object(m.Context(), api.Ref{Kind: api.KindLab, Scope: m.scope, Name: name})
	if err == nil {
		status, err = api.DecodeStatus[api.LabStatus](object)
	}
	if err != nil {
		m.Fatal(err)
	}
	return status
}

// labIs waits until a lab is in a phase.
func (m *machine) labIs(name string, phase api.LabPhase, reason string) (status api.LabStatus) {
	m.Helper()
	m.until(name+" is "+string(phase), func() bool {
		status = m.lab(name)
		return status.Phase == phase
	})
	if status.Reason != reason {
		m.Errorf("%s is %s because of %s (%s), want %s", name, phase, status.Reason, status.Message, reason)
	}
	return status
}

// cleaned waits until the engine has no container of a lab, running or not.
func (m *machine) cleaned(name string) {
	m.Helper()
	m.until("no container of "+name+" is left", func() bool { return len(m.boxesOf(name)) == 0 })
}

const class = `lab "SCOPE" "linux" {
  image    = "IMAGE"
  command  = ["/server", "await", "/end"]
  owner    = "ada@example.org"
  duration = "2h"
  count    = 3
}`

// TestAClassOfLabs: of three labs, one ends by itself, one is stopped, one gets more time; applying the class again
// changes none of that, and the ended ones leave nothing.
func TestAClassOfLabs(t *testing.T) {
	m := newMachine(t).start()
	manifest := m.file("class.hcl", class)
	m.wantSaid(m.tend("apply", "-f", manifest), 0, "lab/"+m.scope+"/linux-1 created", "lab/"+m.scope+"/linux-3 created")
	for _, name := range []string{"linux-1", "linux-2", "linux-3"} {
		m.labIs(name, api.LabRunning, api.ReasonRunning)
		if n := len(m.boxesOf(name)); n != 1 {
			t.Errorf("%s has %d containers", name, n)
		}
	}
	m.wantSaid(m.tend("get", "labs"), 0, "PHASE", "OWNER", "STARTS", "ENDS", "ada@example.org", "RUNNING", "ago", "in 1")
	m.wantSaid(m.tend("exec", m.scope+"/linux-1", "--", "/server", "write", "/end", "now"), 0)
	if s := m.labIs("linux-1", api.LabCompleted, api.ReasonCompleted); s.ExitCode == nil || *s.ExitCode != 0 {
		t.Errorf("%+v", s)
	}
	m.cleaned("linux-1")

	m.wantSaid(m.tend("lab", "stop", m.scope+"/linux-2"), 0, "linux-2: stopped")
	m.labIs("linux-2", api.LabCompleted, api.ReasonStopped)
	m.cleaned("linux-2")
	m.wantSaid(m.tend("lab", "extend", m.scope+"/linux-2", "30m"), 1, "has ended (COMPLETED)")

	before := m.lab("linux-3").EndsAt
	m.wantSaid(m.tend("lab", "extend", m.scope+"/linux-3", "30m"), 0, "30m0s more, ends at")
	m.wantSaid(m.tend("apply", "-f", manifest), 0)
	m.until("its end has moved", func() bool { return m.lab("linux-3").EndsAt.Equal(before.Add(30 * time.Minute)) })
	m.wantSaid(m.tend("describe", "lab", m.scope+"/linux-3"), 0, "RUNNING", "owner ada@example.org",
		"extended by 30m0s", "class linux")
	m.wantSaid(m.tend("logs", m.scope+"/linux-3"), 0)
	for name, want := range map[string]api.LabPhase{"linux-1": api.LabCompleted, "linux-2": api.LabCompleted,
		"linux-3": api.LabRunning} {
		if got := m.lab(name).Phase; got != want {
			t.Errorf("%s is %s after another apply, want %s", name, got, want)
		}
	}
	m.wantSaid(m.tend("delete", "lab", m.scope+"/linux-3", "--yes"), 0)
	m.cleaned("linux-3")
}

// TestALabTimesOut: at its instant, though its container ignores the stop signal for its whole grace period; more time
// that it was given before it began counts. Meanwhile the server is killed.
func TestALabTimesOut(t *testing.T) {
	m := newMachine(t).start()
	start := time.Now().Add(15 * time.Second).UTC().Format(time.RFC3339)
	m.wantSaid(m.tend("apply", "--no-wait", "-f", m.file("brief.hcl", `lab "SCOPE" "brief" {
  image    = "IMAGE"
  command  = ["/server", "ignore-term"]
  owner    = "ada@example.org"
  start    = "`+start+`"
  duration = "3s"
  stop_grace_period = "2s"
}
lab "SCOPE" "failing" {
  image    = "IMAGE"
  command  = ["/server", "exit", "7"]
  owner    = "ada@example.org"
  duration = "1h"
}
lab "SCOPE" "web" {
  image    = "IMAGE"
  owner    = "ada@example.org"
  duration = "1h"
  ports    = ["8080"]
}`)), 0)
	m.wantSaid(m.tend("lab", "extend", m.scope+"/brief", "2s"), 0, "2s more, 2s in all")
	m.kill()
	m.start()
	s := m.labIs("brief", api.LabTimeout, api.ReasonTimedOut)
	if ran := s.CompletedAt.Sub(s.StartedAt); ran < 5*time.Second {
		t.Errorf("it ran %s", ran)
	}
	if at, _ := time.Parse(time.RFC3339, start); s.StartedAt.Before(at) {
		t.Errorf("it began at %s, before %s", s.StartedAt, start)
	}
	m.cleaned("brief")
	if s := m.labIs("failing", api.LabFailed, api.ReasonExited); s.ExitCode == nil || *s.ExitCode != 7 {
		t.Errorf("%+v", s)
	}
	m.cleaned("failing")
	web := m.labIs("web", api.LabRunning, api.ReasonRunning)
	m.until("it answers at "+web.AccessURL, func() bool {
		answer, err := http.Get(m.lab("web").AccessURL)
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK &&
			strings.HasPrefix(web.AccessURL, "http://127.0.0.1:")
	})
	m.wantSaid(m.tend("stop", "lab", m.scope+"/web"), 0)
	m.labIs("web", api.LabCompleted, api.ReasonStopped)
	m.cleaned("web")
}
