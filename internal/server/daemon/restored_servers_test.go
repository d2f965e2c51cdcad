package daemon

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/server/backup/restore"
)

// restoredCluster is a cluster whose first server was restored from a backup that holds a deployment and a cron job of
// every minute, due since.
type restoredCluster struct {
	*several
	clock *site
	cron  client.Target
	runs  int
}

func newRestoredCluster(t *testing.T) *restoredCluster {
	s := newSeveral(t, "a", "b", "c")
	r := &restoredCluster{several: s, clock: &site{machine: s.machines["a"]}}
	r.clock.setClock(time.Now().Add(-10 * time.Minute))
	a := s.startWith("a", func(o *Options) { o.PeerListen, o.Now = loopback(), r.clock.clock })
	a.converged(web, a.apply(manifestOf(web, replicas(2))))
	r.cron = client.TargetOf(a.declare(api.KindCronJob, "often",
		api.CronJobSpec{JobSpec: api.JobSpec{Container: api.Container{Image: "web:1"}}, Schedule: "* * * * *"}))
	a.until("the cron job has its next date", func() bool {
		object, err := a.client.Object(t.Context(), api.Ref{Kind: r.cron.Kind, Scope: r.cron.Scope, Name: r.cron.Name})
		return err == nil && strings.Contains(string(object.Status), "nextRun")
	})
	file := a.takeBackup()
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := restore.Restore(t.Context(), bytes.NewReader(file),
		restore.Options{Root: s.machines["a"].root, Name: "a", Force: true}); err != nil {
		t.Fatal(err)
	}
	r.clock.setClock(time.Now())
	r.boot("a", r.own)
	r.untilUp("a", "a is paused", func() bool { return r.paused("a") })
	r.runs = r.begun("a")
	return r
}

func (r *restoredCluster) own(o *Options) { o.Now = r.clock.clock }

// joins starts a server that joins through another one, while the cluster is paused.
func (r *restoredCluster) joins(name, through string) {
	r.t.Helper()
	token, err := r.running[through].client.JoinToken(r.t.Context(),
		api.JoinTokenRequest{Role: api.JoinAsServer, Uses: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	r.boot(name, func(o *Options) {
		r.own(o)
		o.PeerListen, o.Join, o.Token = loopback(), token.Address, token.Token
	})
	r.untilUp(name, name+" has joined and has a vote", func() bool {
		servers, err := r.running[name].client.Servers(r.t.Context())
		return err == nil && slices.ContainsFunc(servers.Items,
			func(one api.Server) bool { return one.Name == name && one.State == api.ServerUp })
	})
}

// paused reports whether a server says that the cluster is paused, with a reason.
func (r *restoredCluster) paused(name string) bool {
	readiness, err := r.running[name].client.Readiness(context.Background())
	return err == nil && strings.Contains(strings.Join(readiness.Missing, " "), "paused: restored from the backup of")
}

// begun returns the number of runs of the cron job, as a server sees it.
func (r *restoredCluster) begun(name string) int {
	r.t.Helper()
	runs, err := r.running[name].client.Runs(r.t.Context(), r.cron)
	if err != nil {
		r.t.Fatal(err)
	}
	return len(runs.Items)
}

// standsStill checks that a server is paused, refuses every change, and that no run has begun.
func (r *restoredCluster) standsStill(name string) {
	r.t.Helper()
	ctx, c := r.t.Context(), r.running[name].client
	if !r.paused(name) {
		r.t.Errorf("%s doesn't say that it is paused", name)
	}
	for what, write := range map[string]func() error{
		"an apply": func() error {
			_, err := c.Apply(ctx, api.ApplyRequest{Objects: []api.Object{manifestOf(web, replicas(3))}})
			return err
		},
		"a scale": func() error { _, err := c.Scale(ctx, client.TargetOf(web), 1); return err },
		"a run":   func() error { _, err := c.Run(ctx, r.cron); return err },
		"a config": func() error {
			_, err := c.SetConfig(ctx, "prod", "web", api.ConfigRequest{Set: map[string]string{"A": "1"}})
			return err
		},
		"a drain": func() error { _, err := c.SetAvailability(ctx, "node-a", api.NodeDrained, false); return err },
	} {
		err := write()
		var problem *api.Problem
		if !errors.As(err, &problem) || problem.Status != http.StatusServiceUnavailable ||
			!strings.Contains(problem.Detail, "paused: restored from the backup of") {
			r.t.Errorf("%s through %s: %v", what, name, err)
		}
	}
	if now := r.begun(name); now != r.runs {
		r.t.Errorf("%d runs began, as %s knows it", now-r.runs, name)
	}
}

func (r *restoredCluster) restart(name string) {
	r.t.Helper()
	if err := r.running[name].stop(); err != nil {
		r.t.Fatal(err)
	}
	r.boot(name, r.own)
}

// TestAPauseIsOfAllServers: after a restore every server is paused: new ones, those left when the restored one is gone,
// and restarted ones. Any of them resumes the cluster, once and for all servers.
func TestAPauseIsOfAllServers(t *testing.T) {
	t.Parallel()
	r := newRestoredCluster(t)
	r.standsStill("a")
	r.joins("b", "a")
	r.standsStill("b")
	r.joins("c", "b")
	for _, name := range []string{"a", "b", "c"} {
		r.untilUp(name, "nobody has the controllers: the claim in the backup is over",
			func() bool { return r.leader(name) == "" })
		r.standsStill(name)
	}
	if err := r.running["a"].stop(); err != nil {
		t.Fatal(err)
	}
	r.untilUp("b", "the store has another leader", func() bool { return r.paused("b") && r.paused("c") })
	r.standsStill("b")
	r.standsStill("c")
	r.boot("a", r.own)
	r.untilUp("a", "a is paused again", func() bool { return r.paused("a") })
	r.restart("b")
	r.untilUp("b", "b is paused again", func() bool { return r.paused("b") })
	r.standsStill("b")

	r.untilUp("c", "a server that was not restored resumes", func() bool {
		_, err := r.running["c"].client.Resume(t.Context(), "")
		return err == nil
	})
	for _, name := range []string{"a", "b", "c"} {
		r.ready(name)
		r.running[name].converged(web, r.running[name].apply(manifestOf(web, replicas(2))))
	}
	if now := r.begun("c"); now != r.runs {
		t.Errorf("%d runs began that were due before the end of the pause", now-r.runs)
	}
	r.clock.setClock(r.clock.clock().Add(2 * time.Minute))
	if _, err := r.running["b"].client.SetConfig(t.Context(), "prod", "often",
		api.ConfigRequest{Set: map[string]string{"NUDGE": "1"}}); err != nil {
		t.Error(err)
	}
	r.untilUp("b", "cron runs go on", func() bool { return r.begun("b") > r.runs })
	for _, name := range []string{"a", "c"} {
		r.restart(name)
		r.ready(name)
	}
}
