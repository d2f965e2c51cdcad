package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/input/manifest"
	"tend.dev/tend/internal/node/runtime/docker"
)

// fitted fits a project of a database, a migration, and a web that waits for its end.
func fitted(t *testing.T, containers ...docker.ComposeContainer) (*composeProject, error) {
	t.Helper()
	p := &composeProject{keeps: map[string][]string{}, notes: map[string][]string{}, dropped: map[api.Ref]string{}}
	add := func(kind api.Kind, name, spec string) {
		p.read.Sections = append(p.read.Sections, manifest.Section{Object: api.Object{
			Kind: kind, Scope: "shop", Name: name, Spec: json.RawMessage(spec)}})
	}
	add(api.KindDeployment, "db", `{"image":"i"}`)
	add(api.KindJob, "migrate", `{"image":"i","run_on_release":true}`)
	add(api.KindDeployment, "web", `{"image":"i","depends_on":{"workloads":["job/migrate"]}}`)
	return p, p.fit(containers)
}

func container(service, name string, running bool, volume string) docker.ComposeContainer {
	return docker.ComposeContainer{Service: service, Writes: []string{volume},
		Container: takeover.Container{ID: name, Name: name, Running: running, Restart: "no"},
		Runs:      takeover.Runs{Image: "i", Mounts: []takeover.Mount{{Volume: volume, Target: "/data"}}}}
}

// TestFitLeavesRunningJob: what still runs once is not among what is applied.
func TestFitLeavesRunningJob(t *testing.T) {
	for _, running := range []bool{true, false} {
		p, err := fitted(t, container("db", "shop-db-1", true, "shop_data"),
			container("migrate", "shop-migrate-1", running, "shop_data"))
		if err != nil {
			t.Fatal(err)
		}
		ref := api.Ref{Kind: api.KindJob, Scope: "shop", Name: "migrate"}
		taken := slices.ContainsFunc(p.services, func(s composeService) bool { return s.name == "migrate" })
		if declared := strings.Contains(string(p.text), "migrate"); declared == running || taken == running ||
			(p.dropped[ref] != "") != running {
			t.Errorf("running %v: taken %v, dropped %v, and the manifests are\n%s", running, taken, p.dropped, p.text)
		}
	}
}

// TestAdoptionSaysThatAJobRunsAgain: the plan has what a one-shot does once more, before anything is done.
func TestAdoptionSaysThatAJobRunsAgain(t *testing.T) {
	p, err := fitted(t, container("db", "shop-db-1", true, "shop_data"),
		container("migrate", "shop-migrate-1", false, "shop_other"))
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	a := &app{streams: streams{err: &said}}
	a.showService(p, takeover.Service{Name: "migrate", Once: true})
	if want := "  migrate: has run, and runs again in its turn -> job/shop/migrate\n"; !strings.Contains(said.String(), want) {
		t.Errorf("%q, want %q", said.String(), want)
	}
}

// TestFitGoesByWhatRuns: the volume is that of the container that runs, or ran until it was taken over.
func TestFitGoesByWhatRuns(t *testing.T) {
	cases := map[string]struct {
		reason     string
		containers []docker.ComposeContainer
		want       string
	}{
		"stopped": {"the stopped one is out of date", []docker.ComposeContainer{
			container("db", "shop-db-1", false, "shop_old"), container("db", "shop-db-2", true, "shop_data")},
			"shop_data:/data"},
		"taken over": {"it ran", []docker.ComposeContainer{
			container("db", "shop-db-1.adopted-stopped-no.shop", false, "shop_old"),
			container("db", "shop-db-2.adopted-no.shop", false, "shop_data")}, "shop_data:/data"},
		"two that run": {"which data is the right one, a person must say", []docker.ComposeContainer{
			container("db", "shop-db-1", true, "shop_old"), container("db", "shop-db-2", true, "shop_data")}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := fitted(t, tc.containers...)
			if err == nil {
				err = p.unfit()
			}
			if tc.want == "" {
				if err == nil || !strings.Contains(err.Error(),
					"shop-db-1 has shop_old at /data, shop-db-2 has shop_data at /data") {
					t.Errorf("%s: %v", tc.reason, err)
				}
				return
			}
			if err != nil || !strings.Contains(string(p.text), tc.want) || strings.Contains(string(p.text), "shop_old") {
				t.Errorf("%s: %v\n%s", tc.reason, err, p.text)
			}
		})
	}
}

// TestFitRefusesWaiting: a pod that waits for what is not taken over would never start, with its old container stopped.
func TestFitRefusesWaiting(t *testing.T) {
	web := container("web", "shop-web-1", true, "shop_web")
	for _, running := range []bool{true, false} {
		p, err := fitted(t, container("db", "shop-db-1", true, "shop_data"),
			container("migrate", "shop-migrate-1", running, "shop_data"), web)
		if refused := p.unfit(); err != nil || (refused != nil) != running ||
			running && !strings.Contains(refused.Error(), "web waits for migrate") {
			t.Errorf("running %v: %v, %v", running, err, refused)
		}
	}
}

// TestCheckEngine: a project on another engine than the node's has its volumes there. An engine without an id passes.
func TestCheckEngine(t *testing.T) {
	for name, tc := range map[string]struct {
		engine, node string
		refused      bool
	}{
		"the same":       {"A", "A", false},
		"another":        {"A", "B", true},
		"an older agent": {"A", "", false},
		"no id":          {"", "B", false},
	} {
		err := checkEngine("shop", "unix:///run/tend.sock", tc.engine, tc.node)
		if (err != nil) != tc.refused || err != nil && !strings.Contains(err.Error(), "DOCKER_HOST") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNothingLeft: what is said when there is nothing to do fits what was done before.
func TestNothingLeft(t *testing.T) {
	finished := &composeProject{name: "shop"}
	for goal, want := range map[takeover.Goal]string{
		takeover.Finish: "no old container of shop is left",
		takeover.Undo:   "no container of shop is left to go back to: it was finished, or never ran on this engine",
	} {
		if got := nothingLeft(finished, goal); got != want {
			t.Errorf("%s: %q", goal, got)
		}
	}
}
