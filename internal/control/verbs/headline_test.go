package verbs

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestHeadlines: a refusal says first what is wrong: the manifest itself, or what is in its way.
func TestHeadlines(t *testing.T) {
	const several = `deployment/prod/web: ports[0]: 3 replicas can't all publish the host's port of "8080:8080"`
	taken := func(by string) string {
		return "deployment/prod/web: ports[0]: the host's port 127.0.0.1:8080/tcp is taken by deployment/prod/" + by + " already"
	}
	one, all := `{"ports":["8080:8080"]}`, `{"ports":["8080:8080"],"replicas":3}`
	for name, tc := range map[string]struct {
		stored  string
		applied []api.Object
		want    string
	}{
		"in itself": {`{}`, []api.Object{deployment("prod", "web", all)},
			"the manifest can't work like this: 1 fault; nothing was stored; " + several},
		"in itself, a range": {`{}`, []api.Object{deployment("prod", "web", `{"ports":["81-89:1-9"],"replicas":3}`)},
			"the manifest can't work like this: 1 fault; nothing was stored; " +
				strings.Replace(several, "8080:8080", "81-89:1-9", 1)},
		"with what is stored": {one, []api.Object{deployment("prod", "web", one)},
			"1 conflict with what is stored; nothing was stored; " + taken("stored")},
		"within the apply": {`{}`, []api.Object{deployment("prod", "also", one), deployment("prod", "web", one)},
			"1 conflict among the objects of the apply; nothing was stored; " + taken("also")},
		"both": {one, []api.Object{deployment("prod", "web", all)},
			"the manifest can't work like this: 1 fault, 1 conflict with what is stored; nothing was stored; " +
				taken("stored") + "; " + several},
		"what is nowhere": {`{}`, []api.Object{deployment("prod", "web",
			`{"depends_on":{"workloads":["deployment/db"]}}`)},
			"the manifest can't work like this: 1 fault; nothing was stored; deployment/prod/web: depends_on.workloads[0]: " +
				"deployment/prod/db does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(deployment("prod", "stored", tc.stored))
			for _, dry := range []bool{true, false} {
				if _, err := w.apply(ApplyOptions{DryRun: dry}, tc.applied...); err == nil || err.Error() != tc.want {
					t.Errorf("dry run %v: got\n%v\nwant\n%s", dry, err, tc.want)
				}
			}
		})
	}
}

// TestHeadlineOfADeletion: what is being deleted is in nobody's way but its own.
func TestHeadlineOfADeletion(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{}`))
	if _, err := w.service.Delete(t.Context(), TargetOf(ref("prod", "web")), ""); err != nil {
		t.Fatal(err)
	}
	_, err := w.apply(ApplyOptions{}, deployment("prod", "web", `{}`))
	const want = "1 object still being deleted; nothing was stored; deployment/prod/web: is being deleted"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestFixedPortsOfSeveral: the way out quotes the entry as it was declared, and without the host's port.
func TestFixedPortsOfSeveral(t *testing.T) {
	for spec, want := range map[string]string{
		`{"replicas":3,"ports":["8080:8080"]}`: `write "8080" instead of "8080:8080", and declare an ingress with ` +
			`listen = "8080", which leads to every pod; or have 1 replica`,
		`{"replicas":3,"ports":["0.0.0.0:53:5353/udp"]}`: `write "0.0.0.0:5353/udp" instead of "0.0.0.0:53:5353/udp", and ` +
			`declare an ingress with listen = "53/udp", which leads to every pod; or have 1 replica`,
		`{"replicas":3,"ports":["[::1]:53:5353"]}`: `write "[::1]:5353" instead of "[::1]:53:5353", and declare an ingress ` +
			`with listen = "53", which leads to every pod; or have 1 replica`,
		`{"autoscale":{"min":1,"max":3,"cpu_target":50},"ports":["80:80"]}`: `write "80" instead of "80:80", and declare an ` +
			`ingress with listen = "80", which leads to every pod; or have 1 replica without autoscale`,
		`{"replicas":3,"docker_options":["-p","81:80"]}`: `leave the host's port out, and declare an ingress with ` +
			`listen = "81", which leads to every pod; or have 1 replica`,
	} {
		w := newWorld(t)
		_, err := w.apply(ApplyOptions{}, deployment("prod", "web", spec))
		if got := wantReason(t, err, Invalid).Next; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", spec, got, want)
		}
	}
}
