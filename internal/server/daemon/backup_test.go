package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/server/backup/restore"
)

// site is a machine with a real store, and a clock that a test sets and that continues from there.
type site struct {
	*machine
	mu    sync.Mutex
	ahead time.Duration
	made  map[string]int
}

func newSite(t *testing.T) *site {
	s := &site{machine: newMachine(t), made: map[string]int{}}
	s.setClock(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
	s.engine.Before(func(verb, subject string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if name, _, ok := strings.Cut(strings.TrimPrefix(subject, "prod-"), "."); ok && verb == "create" {
			s.made[name]++
		}
		return nil
	})
	s.engine.AddImage("web:1")
	return s
}

func (s *site) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.ahead)
}

func (s *site) setClock(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead = time.Until(now)
}

// created returns the number of containers of an object that were ever made.
func (s *site) created(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made[name]
}

func (s *site) serve(edit ...func(*Options)) *running {
	s.t.Helper()
	return s.startWith(func(o *Options) {
		o.Store, o.Now, o.Resync, o.MinFree = nil, s.clock, 100*time.Millisecond, -1
		for _, f := range edit {
			f(o)
		}
	})
}

func (r *running) declare(kind api.Kind, name string, spec any) api.Ref {
	r.t.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		r.t.Fatal(err)
	}
	r.apply(api.Object{Kind: kind, Scope: "prod", Name: name, Spec: raw})
	return api.Ref{Kind: kind, Scope: "prod", Name: name}
}

// runningOf waits for the running container of an object.
func (r *running) runningOf(name string) (found string) {
	r.t.Helper()
	r.until("a container of "+name+" runs", func() bool {
		for _, c := range r.engine.Containers() {
			if c.Labels[api.LabelName] == name && c.State == runtime.StateRunning {
				found = c.Name
			}
		}
		return found != ""
	})
	return found
}

func (r *running) takeBackup() []byte {
	r.t.Helper()
	var out bytes.Buffer
	if err := r.client.Backup(r.t.Context(), &out); err != nil {
		r.t.Fatal(err)
	}
	return out.Bytes()
}

// TestBackupAndRestore follows a machine through a backup, a day of work, and the restore. What ran since neither stops
// nor runs again; it is counted at the engine.
func TestBackupAndRestore(t *testing.T) {
	s := newSite(t)
	r := s.serve().ready()
	jobSpec := api.JobSpec{Container: api.Container{Image: "web:1"}, Retries: 3}
	r.setConfig(web, map[string]string{"SECRET": "s1"})
	revision := r.apply(manifestOf(web, replicas(2)))
	r.declare(api.KindAsset, "conf", api.AssetSpec{Files: map[string]api.AssetFile{"motd": {Text: "hello"}}})
	once, long := r.declare(api.KindJob, "once", jobSpec), r.declare(api.KindJob, "long", jobSpec)
	daily := r.declare(api.KindCronJob, "daily", api.CronJobSpec{JobSpec: jobSpec, Schedule: "0 3 * * *"})
	// Its command may take longer than the test ever sets the clock ahead.
	migrate := &api.ReleaseHooks{Command: []string{"migrate"}, Timeout: "24h"}
	shop := r.declare(api.KindDeployment, "shop",
		api.DeploymentSpec{Container: api.Container{Image: "web:1"}, Release: migrate})
	r.converged(web, revision)
	runs := map[api.Ref]string{}
	for _, ref := range []api.Ref{once, long} {
		asked, err := r.client.Run(t.Context(), client.TargetOf(ref))
		if err != nil {
			t.Fatal(err)
		}
		runs[ref] = asked.Run.ID
	}
	job, keeps, migration := r.runningOf("once"), r.runningOf("long"), r.runningOf("shop")

	file := r.takeBackup()

	s.setClock(time.Date(2026, 11, 24, 3, 0, 1, 0, time.UTC)) // a due time of daily
	r.setConfig(daily, map[string]string{"NUDGE": "1"})       // or the clock is read again within a minute
	r.until("daily runs", func() bool { return s.created("daily") == 1 })
	if err := errors.Join(s.engine.Exit(job, 0), s.engine.Exit(migration, 0),
		s.engine.Exit(r.runningOf("daily"), 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.client.Restart(t.Context(), client.TargetOf(web)); err != nil {
		t.Fatal(err)
	}
	r.until("other pods run, and what ended was seen", func() bool {
		run, err := r.client.RunOf(t.Context(), once, runs[once])
		return err == nil && run.State == api.RunSucceeded && s.created("web") == 4 && len(s.live("web")) == 2 &&
			s.created("shop") == 2
	})
	r.runningOf("shop")
	before := s.live("")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	if err := os.RemoveAll(filepath.Join(s.root, "blobs")); err != nil {
		t.Fatal(err)
	}
	if _, err := restore.Restore(t.Context(), bytes.NewReader(file),
		restore.Options{Root: s.root, Force: true}); err != nil {
		t.Fatal(err)
	}
	r = s.serve()
	r.until("it is paused and says why", func() bool {
		readiness, err := r.client.Readiness(t.Context())
		return err == nil && strings.Contains(strings.Join(readiness.Missing, " "),
			"restored from the backup of 2026-11-23T12:")
	})
	var result api.ResumeResult
	r.until("it resumes", func() (resumed bool) {
		var err error
		result, err = r.client.Resume(t.Context(), api.UnknownKeep)
		return err == nil
	})
	if len(result.Adopted) != 2 ||
		!slices.ContainsFunc(result.Unknown, func(name string) bool { return strings.HasPrefix(name, "prod-shop.") }) {
		t.Errorf("%+v", result)
	}
	r.ready()
	r.converged(web, 0)
	s.pass(r, 3) // resyncs
	if after := s.live(""); !slices.Equal(before, after) {
		t.Errorf("what runs changed: %v, then %v", before, after)
	}
	for name, want := range map[string]int{"once": 1, "long": 1, "daily": 1, "web": 4, "shop": 2} {
		if got := s.created(name); got != want {
			t.Errorf("%d containers of %s were made, want %d", got, name, want)
		}
	}
	r.wantUnknown(once, runs[once])
	if config, err := r.client.ConfigValue(t.Context(), "prod", "web", "SECRET"); err != nil || config != "s1" {
		t.Errorf("the secret is %q, %v", config, err)
	}
	if there, err := r.client.HasBlob(t.Context(), digestOfText("hello")); err != nil || !there {
		t.Errorf("the asset's file: %v, %v", there, err)
	}
	r.goesOnWorking(s, long, runs[long], keeps, daily, shop)
}

// goesOnWorking checks that everything works: the running run ends, the next due time starts one, and a requested run
// starts.
func (r *running) goesOnWorking(s *site, long api.Ref, run, container string, daily, shop api.Ref) {
	r.t.Helper()
	if err := s.engine.Exit(container, 0); err != nil {
		r.t.Fatal(err)
	}
	r.until("the run that went on ends well", func() bool {
		run, err := r.client.RunOf(context.Background(), long, run)
		return err == nil && run.State == api.RunSucceeded
	})
	s.setClock(time.Date(2026, 11, 25, 3, 0, 1, 0, time.UTC))
	r.setConfig(daily, map[string]string{"NUDGE": "2"})
	r.until("the next due time runs", func() bool { return s.created("daily") == 2 })
	status, err := r.client.Object(context.Background(), shop)
	if err != nil || !strings.Contains(string(status.Status), "restored from a backup") ||
		!strings.Contains(string(status.Status), "tend restart") {
		r.t.Errorf("shop says nothing of its command: %s, %v", status.Status, err)
	}
	if _, err := r.client.Restart(context.Background(), client.TargetOf(shop)); err != nil {
		r.t.Fatal(err)
	}
	r.until("the command runs when it is asked for", func() bool { return s.created("shop") == 3 })
	if _, err := r.client.Run(context.Background(), client.TargetOf(daily)); err != nil {
		r.t.Error(err)
	}
}

func (r *running) wantUnknown(ref api.Ref, id string) {
	r.t.Helper()
	run, err := r.client.RunOf(context.Background(), ref, id)
	if err != nil || run.State != api.RunFailed || run.Reason != api.ReasonRestored ||
		!strings.Contains(run.Message, "tend run job/prod/once") {
		r.t.Errorf("%+v, %v", run, err)
	}
}

// live returns the containers of an object, or of all, that run, with their ids.
func (s *site) live(name string) (out []string) {
	for _, c := range s.engine.Containers() {
		if c.State == runtime.StateRunning && (name == "" || c.Labels[api.LabelName] == name) {
			out = append(out, c.Name+" "+c.ID)
		}
	}
	slices.Sort(out)
	return out
}

// pass waits until every loop has made a number of passes.
func (s *site) pass(r *running, times int) {
	for range times {
		before := r.cycles()
		r.until("another pass", func() bool { return r.cycles() > before })
	}
}
