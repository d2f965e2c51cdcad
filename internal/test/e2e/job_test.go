//go:build integration

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/test/testimage"
)

// job returns a job, or with a schedule a cron job, whose containers run a command of the test server.
func (m *machine) job(name string, command []string, edits ...func(*api.CronJobSpec)) api.Object {
	m.Helper()
	m.kind = api.KindJob
	spec := api.CronJobSpec{}
	spec.Image, spec.Command = image("v1"), append([]string{testimage.Program}, command...)
	for _, edit := range edits {
		edit(&spec)
	}
	var whole any = spec.JobSpec
	if spec.Schedule != "" {
		m.kind, whole = api.KindCronJob, spec
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		m.Fatal(err)
	}
	return api.Object{Kind: m.kind, Scope: m.scope, Name: name, Spec: raw}
}

// declares applies a job and waits until it could run.
func (m *machine) declares(object api.Object) {
	m.Helper()
	m.converged(object.Name, m.apply(object))
}

// askRun requests a run.
func (m *machine) askRun(name string) api.Run {
	m.Helper()
	result, err := m.client.Run(m.Context(), client.TargetOf(m.ref(name)))
	if err != nil {
		m.Fatal(err)
	}
	return result.Run
}

// runIs waits until a run is in a state.
func (m *machine) runIs(name, id string, state api.RunState) (run api.Run) {
	m.Helper()
	m.until("run "+id+" is "+string(state), func() bool {
		var err error
		run, err = m.client.RunOf(m.Context(), m.ref(name), id)
		return err == nil && run.State == state && (state != api.RunRunning || !run.StartedAt.IsZero())
	})
	return run
}

// boxesOf returns the names of all containers of an object, also ended ones.
func (m *machine) boxesOf(name string) (out []string) {
	for _, b := range m.boxes("tend.scope=" + m.scope) {
		if b.Labels[api.LabelName] == name {
			out = append(out, b.Labels[api.LabelSlot])
		}
	}
	return out
}

func TestRunStreamsOutputAndExitsWithTheCode(t *testing.T) {
	m := newMachine(t).start()
	m.declares(m.job("lines", []string{"print", "6"}))
	r := m.tend("run", m.scope+"/lines")
	m.wantSaid(r, 0, "line 1", "line 2", "line 6", "of job/"+m.scope+"/lines")
	m.declares(m.job("seven", []string{"exit", "7", "300ms"}))
	m.wantSaid(m.tend("run", "job", m.scope+"/seven"), 7, "failed: the container ended with exit code 7")
	m.wantSaid(m.tend("run", m.scope+"/nothing"), 1, "there is no")
	m.declares(m.job("stuck", []string{"wait"}, func(s *api.CronJobSpec) { s.Timeout = "4s" }))
	m.wantSaid(m.tend("run", m.scope+"/stuck"), 3, "waiting", "it ran longer than 4s and was stopped")
	m.wantSaid(m.tend("logs", m.scope+"/lines"), 0, "line 1", "line 6")
	m.wantSaid(m.tend("runs", m.scope+"/seven"), 0, "failed", "manual")
	m.wantSaid(m.tend("get", "jobs"), 0, m.scope+"/seven", "RunFailed", m.scope+"/lines", "Declared")
	m.wantSaid(m.tend("describe", "job", m.scope+"/seven"), 0, "runs 0 active, 0 succeeded, 1 failed", "Runs")
	m.declares(m.job("long", []string{"sleep", "1h"}))
	m.wantSaid(m.tend("run", m.scope+"/long", "--timeout", "1s"), 3, "it goes on")
	m.kind = api.KindDeployment
	m.deploy(m.manifest("web"))
	m.wantSaid(m.tend("run", m.scope+"/web"), 1, "neither a job nor a cron job")
}

func TestAJobIsTriedAgain(t *testing.T) {
	m := newMachine(t).start()
	folder := t.TempDir()
	object := m.job("fetch", []string{"cat", "/in/file"}, func(s *api.CronJobSpec) {
		s.Retries, s.Volumes = 5, []string{folder + ":/in:ro"}
	})
	m.declares(object)
	run := m.askRun("fetch")
	m.until("a second attempt begins", func() bool {
		got, err := m.client.RunOf(m.Context(), m.ref("fetch"), run.ID)
		return err == nil && len(got.Attempts) >= 2
	})
	if err := os.WriteFile(filepath.Join(folder, "file"), []byte("here it is\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ended := m.runIs("fetch", run.ID, api.RunSucceeded)
	if n := len(ended.Attempts); *ended.Attempts[0].ExitCode != 1 || *ended.Attempts[n-1].ExitCode != 0 ||
		len(ended.LastLog) != 0 {
		t.Errorf("%+v", ended)
	}
	m.wantSaid(m.tend("logs", m.scope+"/fetch", "--run", run.ID), 0, "no such file", "here it is")
}

// The server is killed while runs are in progress: one ends meanwhile, one continues, one is removed by hand. tend run
// follows its run across the restart.
func TestRunsSurviveAKilledServer(t *testing.T) {
	m := newMachine(t).start()
	m.declares(m.job("short", []string{"await", goOn, "4"}))
	m.declares(m.job("long", []string{"wait"}))
	m.declares(m.job("lost", []string{"wait"}))
	runs := map[string]api.Run{}
	for _, name := range []string{"short", "long", "lost"} {
		runs[name] = m.askRun(name)
	}
	m.declares(m.job("slow", []string{"await", goOn, "9"}))
	follower := spawn(t, []string{"run", m.scope + "/slow"}, "TEND_SERVER="+m.address(), "TEND_ROOT="+m.root)
	t.Cleanup(follower.kill)
	m.until("the followed container runs", func() bool { return len(m.running("slow")) == 1 })
	pods := map[string]string{}
	for name, run := range runs {
		pods[name] = m.runIs(name, run.ID, api.RunRunning).Attempts[0].Pod
	}
	m.process.kill()
	m.goesOn(pods["short"])
	m.engine("wait", pods["short"])
	m.engine("rm", "-f", pods["lost"])
	m.start()
	if run := m.runIs("short", runs["short"].ID, api.RunFailed); *run.ExitCode != 4 {
		t.Errorf("%+v", run)
	}
	if run := m.runIs("lost", runs["lost"].ID, api.RunFailed); run.Reason != "ContainerRemoved" {
		t.Errorf("%+v", run)
	}
	m.runIs("long", runs["long"].ID, api.RunRunning)
	m.engine("kill", "--signal", "TERM", pods["long"])
	m.runIs("long", runs["long"].ID, api.RunSucceeded)
	for name := range m.running("slow") {
		m.goesOn(name)
	}
	if code := follower.exit(); code != 9 {
		t.Errorf("exit code %d, want 9:\n%s", code, follower.output.String())
	}
}
