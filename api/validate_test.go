package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

func TestNormalizePort(t *testing.T) {
	cases := map[string]struct{ reason, want string }{
		"80":                    {"alone, it is bound to loopback at a port the engine chooses", "127.0.0.1::80/tcp"},
		"3000:80":               {"without an address it is bound to loopback", "127.0.0.1:3000:80/tcp"},
		"0.0.0.0:5432":          {"two parts with an address first: the engine chooses the host's port", "0.0.0.0::5432/tcp"},
		"127.0.0.1::80":         {"as docker writes it", "127.0.0.1::80/tcp"},
		"0.0.0.0:3000:80":       {"all three parts", "0.0.0.0:3000:80/tcp"},
		"[::1]:3000:80":         {"an IPv6 address in brackets", "[::1]:3000:80/tcp"},
		"[::]:53":               {"two parts with an IPv6 address first", "[::]::53/tcp"},
		"[::1]::53/udp":         {"an empty host port", "[::1]::53/udp"},
		"53:53/UDP":             {"the protocol's case doesn't matter", "127.0.0.1:53:53/udp"},
		"8000-8009:80-89":       {"ranges of one length", "127.0.0.1:8000-8009:80-89/tcp"},
		"8000-8009:80":          {"one port on a free one of a range", "127.0.0.1:8000-8009:80/tcp"},
		"[0:0:0:0:0:0:0:1]:1:1": {"an address is written in its shortest form", "[::1]:1:1/tcp"},
		"0:80":                  {"0 lets the engine choose", "127.0.0.1::80/tcp"},
	}
	for entry, c := range cases {
		port, err := api.NormalizePort(entry)
		if err != nil || port.String() != c.want {
			t.Errorf("%s: %s: got %s, %v, want %s", entry, c.reason, port, err, c.want)
			continue
		}
		again, err := api.NormalizePort(port.String())
		if err != nil || again != port {
			t.Errorf("%s: its normal form %s reads as %s, %v", entry, port, again, err)
		}
	}
}

// What can be published and what FixedHostPort says of it must agree: start-first depends on it.
func TestFixedHostPortAgreesWithTheGrammar(t *testing.T) {
	for _, entry := range []string{"80", "3000:80", "127.0.0.1::80", "0.0.0.0:3000:80", "[::1]:3000:80", "[::1]::80",
		"0:80", "0.0.0.0:5432", "[::]:53"} {
		port, err := api.NormalizePort(entry)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := api.FixedHostPort(entry), port.Host.Len() > 0; got != want {
			t.Errorf("%s: FixedHostPort says %t, the grammar %t", entry, got, want)
		}
	}
}

func TestParseMemory(t *testing.T) {
	cases := map[string]struct {
		reason string
		want   int64
	}{
		"1024":  {"bytes", 1024},
		"1K":    {"a power of 1000", 1000},
		"1Ki":   {"a power of 1024", 1024},
		"1.5Gi": {"a fraction of a unit", 3 << 29},
		"2T":    {"the largest unit", 2e12},
	}
	for text, c := range cases {
		if got, err := api.ParseMemory(text); err != nil || got != c.want {
			t.Errorf("%s: %s: got %d, %v", text, c.reason, got, err)
		}
	}
	for _, text := range []string{"", "1.5", "-1", "1k", "1 Gi", "NaN", "Inf", "1e9", "99999999999T",
		strings.Repeat("9", 40)} {
		if got, err := api.ParseMemory(text); err == nil {
			t.Errorf("%q is not a size and became %d", text, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"64m": 64 << 20, "64MB": 64 << 20, "1GiB": 1 << 30, "512": 512,
		"1.5k": 1536, "10b": 10} {
		if got, err := api.ParseSize(text); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "m", "1x", "1bm", "-1", "0x10", "99999999999t"} {
		if got, err := api.ParseSize(text); err == nil {
			t.Errorf("%q is not a size and became %d", text, got)
		}
	}
}

func TestParseCPU(t *testing.T) {
	for text, want := range map[string]float64{"500m": 0.5, "1.5": 1.5, "2": 2, "10m": 0.01} {
		if got, err := api.ParseCPU(text); err != nil || got != want {
			t.Errorf("%s: got %g, %v, want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "5m", "-1", "m", "1e3", "NaN", "1.5.5"} {
		if got, err := api.ParseCPU(text); err == nil {
			t.Errorf("%q is not a number of cores and became %g", text, got)
		}
	}
}

func TestDecodeDeploymentIsStrict(t *testing.T) {
	cases := map[string]struct{ reason, spec, want string }{
		"unknown":   {"a field that doesn't exist", `{"imagee":"x"}`, "imagee: there is no such field"},
		"case":      {"names are compared exactly", `{"Image":"x"}`, "Image: there is no such field"},
		"nested":    {"below, too", `{"strategy":{"ordr":"x"}}`, "strategy.ordr: there is no such field"},
		"in a list": {"and in lists", `{"inits":[{"name":"a"},{"nam":"b"}]}`, "inits[1].nam: there is no such field"},
		"twice":     {"a key given twice", `{"env":{"A":"1","A":"2"}}`, "env.A: is given twice"},
		"type":      {"a wrong type", `{"replicas":"3"}`, "replicas: is a whole number, not string"},
		"behind":    {"something behind the value", `{} {}`, "spec: something follows its end"},
		"empty":     {"nothing at all", ` `, "spec: is required"},
		"cut":       {"half a value", `{"image":`, "spec: unexpected EOF"},
		"deep":      {"a value that nests without end", `{"env":` + strings.Repeat(`{"a":`, 40), "nests too deep"},
	}
	for name, c := range cases {
		_, err := api.DecodeStrict[api.DeploymentSpec](json.RawMessage(c.spec))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s: got %v, want %s", name, c.reason, err, c.want)
		}
	}
}

func TestDefaults(t *testing.T) {
	spec, err := api.DecodeStrict[api.DeploymentSpec](json.RawMessage(`{"image":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := api.ResolvedStrategy{
		Order: api.OrderStartFirst, MaxParallel: 1, Pause: 2e9, WaitReady: true, Monitor: 5e9, Deadline: 300e9, Drain: 10e9,
		OnFailure: api.OnFailurePause,
	}
	if diff := cmp.Diff(want, spec.ResolvedStrategy()); diff != "" {
		t.Errorf("strategy (-want +got):\n%s", diff)
	}
	if spec.ReplicaCount() != 1 || spec.KeepReleaseCount() != 5 ||
		spec.StopGracePeriod.Or(api.DefaultStopGracePeriod) != 10e9 {
		t.Errorf("replicas %d, keep_releases %d", spec.ReplicaCount(), spec.KeepReleaseCount())
	}
}

// TestOrderByWhatIsMounted: only what a container can write to is held exclusively.
func TestOrderByWhatIsMounted(t *testing.T) {
	cases := map[string]struct {
		volumes []string
		want    string
	}{
		"nothing":               {nil, api.OrderStartFirst},
		"a file of an asset":    {[]string{"${asset.conf.app.toml}:/etc/app.toml"}, api.OrderStartFirst},
		"the same, said twice":  {[]string{"${asset.conf.app.toml}:/etc/app.toml:ro"}, api.OrderStartFirst},
		"a folder, to read":     {[]string{"/etc/ssl:/etc/ssl:ro,z"}, api.OrderStartFirst},
		"a folder":              {[]string{"/srv/data:/data"}, api.OrderStopFirst},
		"a volume":              {[]string{"data:/data"}, api.OrderStopFirst},
		"an asset and a volume": {[]string{"${asset.conf.app.toml}:/etc/app.toml", "data:/data:rw"}, api.OrderStopFirst},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := api.DeploymentSpec{Container: api.Container{Volumes: tc.volumes}}
			if got := spec.ResolvedStrategy().Order; got != tc.want {
				t.Errorf("%v is rolled out %s, want %s", tc.volumes, got, tc.want)
			}
		})
	}
}

func TestValidateObject(t *testing.T) {
	long := strings.Repeat("a", 40)
	cases := map[string]struct {
		reason string
		object api.Object
		want   []string
	}{
		"good": {"nothing is wrong",
			api.Object{Kind: "deployment", Scope: "prod", Name: "web", Spec: json.RawMessage(`{"image":"x"}`)}, nil},
		"kind": {"a kind of later", api.Object{Kind: "later", Scope: "prod", Name: "web"},
			[]string{`later/prod/web: kind: kind "later" is not supported yet`}},
		"macro": {"an app that was not expanded", api.Object{Kind: "app", Scope: "prod", Name: "web"},
			[]string{"app/prod/web: kind: an app is not stored itself: send the deployment and ingress that it stands for"}},
		"no spec": {"an object without its spec", api.Object{Kind: "job", Scope: "prod", Name: "web"},
			[]string{"job/prod/web: spec: is required"}},
		"too long": {"a container could not be named",
			api.Object{Kind: "deployment", Scope: long, Name: long, Spec: json.RawMessage(`{"image":"x"}`)},
			[]string{"deployment/" + long + "/" + long +
				": name: scope and name together are longer than 53 characters, so containers could not be named after them"}},
		"env file": {"a client's field that reached the server",
			api.Object{Kind: "deployment", Scope: "prod", Name: "web", Spec: json.RawMessage(`{"image":"x","env_file":["a"]}`)},
			[]string{"deployment/prod/web: env_file: is read by the client and never sent; apply the manifest with tend apply"}},
		"all at once": {"every fault is reported",
			api.Object{Kind: "deployment", Scope: "prod", Name: "web", Spec: json.RawMessage(`{"replicas":-1,"user":":"}`)},
			[]string{"deployment/prod/web: image: is required, or build to make it from source",
				"deployment/prod/web: replicas: -1 is outside 0 to 10000",
				`deployment/prod/web: user: ":" is not a name, a uid, or either with :group`}},
		"huge": {"a spec beyond the bound",
			api.Object{Kind: "deployment", Scope: "prod", Name: "web",
				Spec: json.RawMessage(strings.Repeat(" ", api.MaxSpecBytes+1))},
			[]string{"deployment/prod/web: spec: is larger than 1048576 bytes"}},
	}
	for name, c := range cases {
		var got []string
		for _, fault := range api.ValidateObject(c.object) {
			got = append(got, fault.Error())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
}

func TestCheckEnv(t *testing.T) {
	for name, c := range map[string]struct{ reason, name, value, want string }{
		"largest":   {"what Linux starts a program with", "A", strings.Repeat("x", 131069), ""},
		"too large": {"one byte more", "A", strings.Repeat("x", 131070), "name and value take 131073 bytes"},
		"NUL":       {"the end of a value", "A", "a\x00b", "contains a NUL"},
		"no name":   {"nothing to call it", "", "a", "name is empty"},
	} {
		err := api.CheckEnv(c.name, c.value)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s: got %v, want %q", name, c.reason, err, c.want)
		}
	}
}

// TestOnFailureByOrder: where pods stop before new ones start a failure is turned back, unless the user says otherwise.
func TestOnFailureByOrder(t *testing.T) {
	volume := api.Container{Volumes: []string{"data:/data"}}
	for name, tc := range map[string]struct {
		reason string
		spec   api.DeploymentSpec
		plain  string // on nodes that run plain processes
		want   string
	}{
		"start-first":  {"the old pods serve on", api.DeploymentSpec{}, "", api.OnFailurePause},
		"a volume":     {"one pod holds it at a time", api.DeploymentSpec{Container: volume}, "", api.OnFailureRollback},
		"a fixed port": {"and the port", api.DeploymentSpec{Ports: []string{"80:80"}}, "", api.OnFailureRollback},
		"declared order": {"it is stop-first", api.DeploymentSpec{Strategy: &api.Strategy{Order: api.OrderStopFirst}}, "",
			api.OnFailureRollback},
		"start-first with": {"a volume that is shared",
			api.DeploymentSpec{Container: volume, Strategy: &api.Strategy{Order: api.OrderStartFirst}}, "", api.OnFailurePause},
		"declared": {"the user decides",
			api.DeploymentSpec{Container: volume, Strategy: &api.Strategy{OnFailure: api.OnFailurePause}},
			"", api.OnFailurePause},
		"plain processes": {"they share ports", api.DeploymentSpec{}, api.OrderStopFirst, api.OnFailureRollback},
		"declared on plain": {"the user decides",
			api.DeploymentSpec{Strategy: &api.Strategy{OnFailure: api.OnFailureContinue}}, api.OrderStopFirst,
			api.OnFailureContinue},
	} {
		resolved := tc.spec.ResolvedStrategy()
		if tc.plain != "" {
			resolved = tc.spec.InOrder(resolved, tc.plain)
		}
		if resolved.OnFailure != tc.want {
			t.Errorf("%s: %s: %s, want %s", name, tc.reason, resolved.OnFailure, tc.want)
		}
	}
}
