package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// TestADeployerOwnsNoHost: fields that would reach the host, the cluster or another scope are refused, and nothing is
// stored.
func TestADeployerOwnsNoHost(t *testing.T) {
	w := newWorld(t, func(o *server.Options) { o.HostPaths = []string{"/srv/data"} })
	w.apply("agent", `{"image":"a:1","volumes":["/:/host"]}`)
	admins := `{"kind":"job","scope":"bank","name":"pay","spec":{"image":"a"}}`
	if response, body := w.raw("POST", "/v1/apply?set=admins", "application/json",
		admins); response.StatusCode != http.StatusOK {
		t.Fatal(body)
	}
	w.put(records.ServerKey("s2"), api.ServerPresence{Ports: []int{19801}})
	carol := w.person("carol", api.Deployer, time.Hour, "prod")
	everywhere := w.person("dora", api.Deployer, time.Hour)
	of := func(fields string) string {
		return `{"kind":"deployment","scope":"prod","name":"web","spec":{"image":"a"` + fields + `}}`
	}
	for name, tc := range map[string]struct{ query, body, want string }{
		"a host folder": {"", of(`,"volumes":["/etc:/x"]`),
			"volumes reaches the host, and carol is deployer of prod"},
		"below an allowed one":  {"", of(`,"volumes":["/srv/data/sub:/x"]`), "volumes reaches the host"},
		"beside an allowed one": {"", of(`,"volumes":["/srv/data:/x","/srv:/y"]`), "volumes reaches the host"},
		"out of an allowed one": {"", of(`,"volumes":["/srv/data/../..:/x"]`), ""},
		"devices":               {"", of(`,"devices":["/dev/kvm"]`), "devices reaches the host"},
		"a capability":          {"", of(`,"cap_add":["SYS_ADMIN"]`), "cap_add reaches the host"},
		"the host's network":    {"", of(`,"network_mode":"host"`), "network_mode reaches the host"},
		"options of the engine": {"", of(`,"docker_options":["--privileged"]`), "docker_options reaches the host"},
		"a volume of others":    {"", of(`,"volumes":["data:/x"]`), "mounts a volume that may be another's"},
		"a name of others": {"", of(`,"hostname":"vault.bank"`),
			"hostname vault.bank is a name by which containers of every scope would reach it, and carol is deployer of prod"},
		"a public port":     {"", of(`,"ports":["0.0.0.0:80:80"]`), "ports publishes"},
		"the server's port": {"", of(`,"ports":["127.0.0.1:8686:80"]`), "ports[0]: Tend itself listens at port 8686"},
		"the port of another server": {"",
			`{"kind":"ingress","scope":"prod","name":"z","spec":{"listen":"127.0.0.1:19801","service":"web"}}`,
			"listen: Tend itself listens at port 19801"},
		"another's config":   {"", of(`,"env_from":["bank/pay"]`), "names the scope bank"},
		"another scope":      {"", admins, "job/bank/pay is in another scope"},
		"another scope, dry": {"?dry_run=1", admins, "job/bank/pay is in another scope"},
		"the cluster":        {"", `{"kind":"node","name":"n1","spec":{}}`, "concerns the whole cluster"},
		"a macro": {"", `{"kind":"postgres","scope":"prod","name":"db","spec":{}}`,
			"is a macro, which runs a plugin"},
		"a Kubernetes cluster": {"",
			`{"kind":"operation","scope":"prod","name":"x","spec":{"cluster":"east","targetRef":{"name":"cloud"},"type":"Backup","engine":"velero"}}`, "changes a Kubernetes cluster"},
		"the program of an admin": {"",
			`{"kind":"deployment","scope":"prod","name":"agent","spec":{"image":"b","volumes":["/:/host"]}}`,
			"volumes reaches the host"},
		"the set of an admin": {"?set=admins&prune=1", of(""), "job/bank/pay is in another scope"},
	} {
		t.Run(name, func(t *testing.T) {
			before := w.view.Revision()
			response, body := w.ask(carol, "POST", "/v1/apply"+tc.query, tc.body)
			if tc.want == "" && response.StatusCode < http.StatusBadRequest {
				t.Errorf("%s: %s", response.Status, body)
			} else if tc.want != "" {
				if p := forbidden(t, response, body); !strings.Contains(p.Detail, tc.want) {
					t.Errorf("it is %s, want %q", body, tc.want)
				}
			}
			if w.view.Revision() != before {
				t.Error("something was stored")
			}
		})
	}
	response, body := w.ask(everywhere, "POST", "/v1/apply", `{"kind":"node","name":"n1","spec":{}}`)
	forbidden(t, response, body)
	response, body = w.ask(everywhere, "DELETE", "/v1/objects/node/_/n1", "")
	forbidden(t, response, body)
}

// TestADeployerDeploys: objects of its scopes, also beside what an admin declared, and an allowed folder of the host.
func TestADeployerDeploys(t *testing.T) {
	w := newWorld(t, func(o *server.Options) { o.HostPaths = []string{"/srv/data"} })
	w.apply("agent", `{"image":"a:1","volumes":["/:/host"]}`)
	carol := w.person("carol", api.Deployer, time.Hour, "prod", "shop")
	for _, body := range []string{
		`{"kind":"deployment","scope":"prod","name":"web","spec":{"image":"a","ports":["80"],"hostname":"web.prod","volumes":["/srv/data:/x","prod.data:/d"]}}`,
		`{"kind":"job","scope":"shop","name":"task","spec":{"image":"a","env_from":["prod/web"]}}`,
		`{"kind":"deployment","scope":"prod","name":"agent","spec":{"image":"a:1","volumes":["/:/host"]}}`, // unchanged
	} {
		if response, answer := w.ask(carol, "POST", "/v1/apply", body); response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", body, answer)
		}
	}
	read, err := w.client.Object(t.Context(), ref("web"))
	if err != nil || read.Metadata.Change == nil || read.Metadata.Change.Actor != "carol (token from 127.0.0.1)" ||
		read.Metadata.Stamps[api.StampConfined] != "true" {
		t.Errorf("it is %+v, %v", read.Metadata, err)
	}
	w.apply("web", `{"image":"b"}`) // an admin may set any field
	if read, err = w.client.Object(t.Context(), ref("web")); err != nil || read.Metadata.Stamps[api.StampConfined] != "" {
		t.Errorf("after an admin's change it is %+v, %v", read.Metadata, err)
	}
}

// TestADeployerRunsCommandsWhereNoHostIs: a command can use everything that its pod has. That is unknown for a pod
// without a release, and for a pod of a deleted object: a release of that number is another object's.
func TestADeployerRunsCommandsWhereNoHostIs(t *testing.T) {
	w := newWorld(t)
	w.containers.execs = func(runtime.ExecOptions) (runtime.Exec, error) { return newEcho(0), nil }
	w.apply("web", `{"image":"a:1","ports":["0.0.0.0:80:80"]}`)
	w.running("web", "aaaaaaaa", true)
	made := func(name, spec string) {
		w.put(records.ReleaseKey(ref(name), "v1"), api.Release{ID: "v1", Spec: []byte(spec)})
	}
	made("web", `{"image":"a:1"}`)
	w.apply("agent", `{"image":"a:1"}`) // since its pod was made with release v1
	w.running("agent", "bbbbbbbb", true)
	made("agent", `{"image":"a:1","volumes":["/:/host"]}`)
	w.apply("lost", `{"image":"a:1"}`)
	w.running("lost", "dddddddd", true)
	w.apply("again", `{"image":"a:1"}`)
	former := w.running("again", "eeeeeeee", true)
	former.OwnerUID = "of the object before"
	w.put(records.TaskKey(former.ID), former)
	made("again", `{"image":"a:1"}`)
	w.apply("plain", `{"image":"a:1"}`)
	made("plain", `{"image":"a:1"}`)
	task := w.running("plain", "cccccccc", true)
	task.Node = "n2"
	w.put(records.TaskKey(task.ID), task)
	w.put(records.NodeKey("n2"), api.NodeStatus{ID: "n2", Runtime: "process", Ready: true})
	carol := w.person("carol", api.Deployer, time.Hour, "prod")
	c := w.dial(w.http, carol)
	run := func(pod string) error {
		_, err := c.Exec(t.Context(), pod, api.ExecRequest{Command: []string{"id"}},
			client.ExecIO{Stdout: io.Discard, Stderr: io.Discard, Stdin: strings.NewReader("")})
		return err
	}
	if err := run("prod-web.aaaaaaaa"); err != nil {
		t.Errorf("where only a port is published: %v", err)
	}
	if err := run("prod-agent.bbbbbbbb"); err == nil ||
		!strings.Contains(err.Error(), "volumes reaches the host, and carol is deployer of prod") {
		t.Errorf("where the host is mounted: %v", err)
	}
	if err := run("prod-plain.cccccccc"); err == nil ||
		!strings.Contains(err.Error(), "prod-plain.cccccccc is a plain process of its node, which reaches the host") {
		t.Errorf("where nothing is isolated: %v", err)
	}
	for _, pod := range []string{"prod-lost.dddddddd", "prod-again.eeeeeeee"} {
		if err := run(pod); err == nil || !strings.Contains(err.Error(), pod+" is not wanted running") {
			t.Errorf("where it is unknown whether the host is mounted: %v", err)
		}
	}
}

// TestARollbackBringsNoHost: neither does a build from another source.
func TestARollbackBringsNoHost(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a:1"}`)
	for n, spec := range []string{`{"image":"a:0","volumes":["/:/host"]}`, `{"image":"a:1"}`} {
		id := []string{"v1", "v2"}[n]
		w.put(records.ReleaseKey(ref("web"), id),
			api.Release{ID: id, Number: n + 1, Kind: api.KindDeployment, Scope: "prod", Name: "web", Spec: []byte(spec)})
	}
	carol := w.person("carol", api.Deployer, time.Hour, "prod")
	before := w.view.Revision()
	response, body := w.ask(carol, "POST", "/v1/objects/-/-/web/rollback?release=v1", "")
	if forbidden(t, response, body); w.view.Revision() != before {
		t.Error("something was stored")
	}
}
