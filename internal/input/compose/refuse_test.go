package compose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// TestABadEntryGoesAlone: of every list and table, only the refused entry is left out. It is reported under the key
// that it comes from.
func TestABadEntryGoesAlone(t *testing.T) {
	spec := api.DeploymentSpec{Container: api.Container{
		Image:       "app",
		Volumes:     []string{"one:/one", "two:/", "three:/three", "four:relative", "five:/five"},
		Tmpfs:       []string{"relative", "/run"},
		Devices:     []string{"/dev/fuse", "fuse", "/dev/null"},
		SecurityOpt: []string{"nonsense", "no-new-privileges=true"},
		ExtraHosts:  []string{"a:10.0.0.1", "b:nowhere", "c:10.0.0.2"},
		CapAdd:      []string{"NET_ADMIN", "not one"}, CapDrop: []string{"?", "ALL"},
		DNS:         []string{"1.1.1.1", "dns.example", "8.8.8.8"},
		Networks:    []string{"corp", "host"},
		Env:         map[string]string{"A": "1", "B=": "2"},
		Labels:      map[string]string{"team": "a", "tend.scope": "b"},
		Ulimits:     map[string]string{"nofile": "1024", "nonsense": "1"},
		SecretFiles: map[string]string{"/run/a": "A", "relative": "B", "/run/c": "not a key"},
		Placement:   &api.Placement{Constraints: []string{"node.arch == arm64", "node.role == manager"}},
		Resources:   &api.Resources{Limits: &api.ResourceLimits{CPU: "0.5", Memory: "1"}},
		Logs:        &api.Logs{MaxSize: "much"},
		DependsOn:   &api.DependsOn{Workloads: []string{"deployment/db", "db"}},
		StopSignal:  "NOTHING",
	}, Ports: []string{"80:80", "80:81", "8080:http", "9000"}, Aliases: []string{"my_db", "a.b", "my_db"}}
	want := api.DeploymentSpec{Container: api.Container{
		Image:       "app",
		Volumes:     []string{"one:/one", "three:/three", "five:/five"},
		Tmpfs:       []string{"/run"},
		Devices:     []string{"/dev/fuse", "/dev/null"},
		SecurityOpt: []string{"no-new-privileges=true"},
		ExtraHosts:  []string{"a:10.0.0.1", "c:10.0.0.2"},
		CapAdd:      []string{"NET_ADMIN"}, CapDrop: []string{"ALL"},
		DNS:         []string{"1.1.1.1", "8.8.8.8"},
		Networks:    []string{"corp"},
		Env:         map[string]string{"A": "1"},
		Labels:      map[string]string{"team": "a"},
		Ulimits:     map[string]string{"nofile": "1024"},
		SecretFiles: map[string]string{"/run/a": "A"},
		Placement:   &api.Placement{Constraints: []string{"node.arch == arm64"}},
		Resources:   &api.Resources{Limits: &api.ResourceLimits{CPU: "0.5"}},
		DependsOn:   &api.DependsOn{Workloads: []string{"deployment/db"}},
	}, Ports: []string{"80:80", "9000"}, Aliases: []string{"my_db"}}
	c := &converter{scope: "shop", report: newReport()}
	u := &unit{at: "services.web", name: "web"}
	u.list("volumes", "volumes", 5)
	if err := c.add(api.KindDeployment, u, spec); err != nil {
		t.Fatal(err)
	}
	var got api.DeploymentSpec
	if err := json.Unmarshal(c.sections[0].Object.Spec, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, at := range []string{"services.web.volumes[1]", "services.web.volumes[3]", `services.web.environment["B="]`,
		"services.web.stop_signal"} {
		if len(c.report.findings[at]) != 1 {
			t.Errorf("%s has %d findings", at, len(c.report.findings[at]))
		}
	}
}

// TestOthersStay: whichever entries of a list are refused, reported in any order, the others stay.
func TestOthersStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list, kept []string
		var faults []api.FieldError
		for i := range rapid.IntRange(1, 12).Draw(t, "entries") {
			entry := fmt.Sprint("entry ", i)
			list = append(list, entry)
			if rapid.Bool().Draw(t, "bad") {
				for range rapid.IntRange(1, 2).Draw(t, "faults") {
					faults = append(faults, api.FieldError{Field: fmt.Sprintf("volumes[%d]", i)})
				}
			} else {
				kept = append(kept, entry)
			}
		}
		faults = rapid.Permutation(faults).Draw(t, "order")
		raw, _ := json.Marshal(map[string]any{"image": "a", "volumes": list})
		spec, err := decodeSpec(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range cuts(faults, false) {
			if !remove(spec, cut.path) {
				t.Fatalf("%v isn't there", cut.path)
			}
		}
		var got []string
		left, _ := spec["volumes"].([]any)
		for _, entry := range left {
			got = append(got, entry.(string))
		}
		if !slices.Equal(got, kept) {
			t.Fatalf("%q stay of %q, want %q", got, list, kept)
		}
	})
}

func TestFieldPath(t *testing.T) {
	for field, want := range map[string]string{
		"volumes[3]": "volumes 3", `env["A=B"]`: "env A=B", `env["a.b[0]"].x`: "env a.b[0] x",
		"placement.constraints[0]": "placement constraints 0",
		"":                         "", "image": "image", `labels["a\"b"]`: `labels a"b`, "x[": "x [", `x["`: `x ["`,
	} {
		var parts []string
		for _, step := range fieldPath(field) {
			parts = append(parts, fmt.Sprint(step))
		}
		if got := strings.Join(parts, " "); got != want {
			t.Errorf("%q: %q, want %q", field, got, want)
		}
	}
}
