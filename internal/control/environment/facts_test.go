package environment

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

func TestReferences(t *testing.T) {
	l := newHarness(t)
	server := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "api"}
	l.put(server, api.DeploymentSpec{Ports: []string{"0.0.0.0:9000:8080", "81"}})
	l.put(api.Ref{Kind: api.KindStatefulSet, Scope: "data", Name: "db"},
		api.StatefulSetSpec{DeploymentSpec: api.DeploymentSpec{Ports: []string{"5432"}}})
	l.put(api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "worker"}, api.DeploymentSpec{})
	gone := l.put(api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "gone"}, api.DeploymentSpec{})
	gone.Metadata.DeletedAt = &time.Time{}
	l.write(func(txn *records.Txn) {
		txn.Put(records.ObjectKey(gone.Ref()), gone).
			Put(records.StatusKey(server), api.WorkloadStatus{Release: "v3", Image: "api:3"})
	})
	for text, tc := range map[string]struct{ reason, want, fault string }{
		"http://${ref.deployment.api.address}/": {"host and port", "http://api.prod:8080/", ""},
		"${ref.deployment.api.host}":            {"the name in the network", "api.prod", ""},
		"${ref.deployment.api.port}":            {"the container's side of the first port", "8080", ""},
		"${ref.deployment.prod.api.image}":      {"what it runs", "api:3", ""},
		"${ref.deployment.api.release}":         {"its release", "v3", ""},
		"${ref.statefulset.data.db.address}":    {"of another scope and kind", "db.data:5432", ""},
		"${ref.statefulset.data.db.host-2}":     {"one ordinal", "db-2.data", ""},
		"$${ref.deployment.api.host}":           {"escaped", "${ref.deployment.api.host}", ""},
		"${ref.statefulset.data.db.host-02}":    {"no ordinal", "", "has no field host-02"},
		"${ref.deployment.api.host-0}": {"replicas of a deployment have no ordinals", "",
			"has no field host-0"},
		"${ref.deployment.api.url}":              {"no such field", "", "has no field url: there are host, port"},
		"${ref.deployment.worker.port}":          {"no ports", "", "declares no ports"},
		"${ref.deployment.worker.release}":       {"nothing was rolled out", "", "has no release yet"},
		"${ref.deployment.nobody.host}":          {"nobody", "", "there is no deployment/prod/nobody"},
		"${ref.deployment.gone.host}":            {"it is being deleted", "", "there is no deployment/prod/gone"},
		"${ref.deployment.web.host}":             {"itself", "", "can't refer to itself"},
		"${ref.job.mail.host}":                   {"a job serves no requests", "", "statefulsets alone have facts"},
		"${ref.deployment.x.host}${ref.job.a.b}": {"all that is missing", "", "prod/x; ${ref.job.a.b}"},
	} {
		got, err := l.of(api.Container{Env: map[string]string{"A": text}})
		var without *Error
		switch {
		case tc.fault == "" && (err != nil || got["A"] != tc.want):
			t.Errorf("%s: %q became %q, %v; want %q", tc.reason, text, got["A"], err, tc.want)
		case tc.fault != "" && (!errors.As(err, &without) || without.Reason != api.ReasonUnresolvedReference ||
			!strings.Contains(err.Error(), tc.fault)):
			t.Errorf("%s: %q: %v; want %q", tc.reason, text, err, tc.fault)
		}
	}
}

// Each field that may hold references is resolved, and the declared container is not modified.
func TestReferencesInEveryField(t *testing.T) {
	l := newHarness(t)
	l.put(api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "api"}, api.DeploymentSpec{})
	declare := func(text string) api.Container {
		return api.Container{
			Image: "web:1", Env: map[string]string{"A": text}, Labels: map[string]string{"l": text},
			Command:    []string{"run", text},
			Entrypoint: []string{text}, ExtraHosts: []string{text}, DockerOptions: []string{"--domainname", text},
		}
	}
	declared := declare("${ref.deployment.api.host}")
	got, _, err := l.env.Resolve(l.snapshot(), web, declared)
	if diff := cmp.Diff(declare("api.prod"), got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if diff := cmp.Diff(declare("${ref.deployment.api.host}"), declared); diff != "" {
		t.Errorf("the declaration was written to:\n%s", diff)
	}
}

func TestReferring(t *testing.T) {
	l := newHarness(t)
	l.put(web, api.DeploymentSpec{Container: api.Container{Env: map[string]string{
		"A": "${ref.deployment.api.host}${ref.deployment.api.port}", "B": "${ref.statefulset.data.db.host}",
		"C": "$${ref.deployment.escaped.host}", "D": "${ref.deployment.malformed}"}}})
	for name, want := range map[string]int{"deployment/prod/api": 1, "statefulset/data/db": 1,
		"deployment/prod/escaped": 0, "deployment/prod/malformed": 0} {
		ref, _, _ := records.ParseRef(name)
		if got := l.snapshot().Referring(ref); len(got) != want {
			t.Errorf("%s is referred to by %d objects, want %d", name, len(got), want)
		}
	}
}

// TestAReferenceThatStandsForNothing: the error names the field, and the step that ends it for this cause.
func TestAReferenceThatStandsForNothing(t *testing.T) {
	l := newHarness(t)
	server := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "api"}
	l.put(server, api.DeploymentSpec{})
	for name, tc := range map[string]struct {
		declared   api.Container
		text, next string
	}{
		"absent": {api.Container{Env: map[string]string{"A": "x", "B": "${ref.deployment.db.host}"}},
			"env.B: ${ref.deployment.db.host}: there is no deployment/prod/db",
			"apply deployment/prod/db, or correct `env.B`; Tend retries"},
		"a fact it lacks": {api.Container{Command: []string{"${ref.deployment.api.port}"}},
			"command: ${ref.deployment.api.port}: deployment/prod/api declares no ports", "correct `command`; Tend retries"},
	} {
		_, err := l.of(tc.declared)
		var fault *Error
		if !errors.As(err, &fault) || fault.Cause.Error() != tc.text || fault.Next != tc.next {
			t.Errorf("%s: %v, want %s\nNext: %s", name, err, tc.text, tc.next)
		}
	}
	_, err := l.of(api.Container{Env: map[string]string{
		"A": "${ref.deployment.api.release}", "B": "${ref.deployment.db.host}${ref.deployment.api.release}"}})
	var fault *Error
	if !errors.As(err, &fault) || fault.Passing {
		t.Errorf("a missing object passes by itself: %v", err)
	}
}
