package docker

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/mount"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
	"tend.dev/tend/internal/node/runtime"
)

var rewrite = flag.Bool("rewrite", false, "write what is found into testdata instead of comparing")

// TestFields and TestOptions show what each field and each flag changes in the engine's request, compared with a
// container that declares nothing.
func TestFields(t *testing.T) {
	used := map[string]bool{}
	golden(t, "testdata/fields.txt", func(input string) api.DeploymentSpec {
		var spec api.DeploymentSpec
		decoder := json.NewDecoder(strings.NewReader(input))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&spec); err != nil {
			t.Fatalf("%s: %v", input, err)
		}
		markUsed(used, spec)
		return spec
	})
	notInContainer := []string{
		"Image", "Env", "SecretFiles", "Aliases", // given resolved, in ContainerSpec
		"Replicas", "Mode", "Placement", "EnvFile", "EnvFrom", "HealthCheck", "PostDeploy", "KeepReleases", "Strategy",
		"DependsOn", "Build",
		"Release", "Autoscale", "Probes", "OnDeploy", "OnProbe", "Inits", "DockerOptions",
	}
	wantComplete(t, reflect.TypeFor[api.DeploymentSpec](), used, notInContainer)
}

func TestOptions(t *testing.T) {
	used := map[string]bool{}
	golden(t, "testdata/options.txt", func(input string) api.DeploymentSpec {
		args := splitArgs(t, input)
		options, err := dockerflags.Parse(args)
		if err != nil {
			t.Fatalf("%s: %v", input, err)
		}
		markUsed(used, options)
		return api.DeploymentSpec{Container: api.Container{DockerOptions: args}}
	})
	wantComplete(t, reflect.TypeFor[dockerflags.Options](), used, nil)
}

// TestNoLabelOfAnImageIsTends: the engine adds an image's labels to those of a container, unless it has them.
func TestNoLabelOfAnImageIsTends(t *testing.T) {
	spec := testSpec(api.DeploymentSpec{})
	request, err := newRequest(spec, testMachine())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range api.Labels() {
		value, there := request.Config.Labels[name]
		if ours := spec.Labels[name] != "" || name == api.LabelCluster || name == api.LabelNode; !there ||
			ours != (value != "") {
			t.Errorf("%s is %q, there: %v", name, value, there)
		}
	}
}

func golden(t *testing.T, file string, read func(input string) api.DeploymentSpec) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rewritten strings.Builder
	base := changes(t, api.DeploymentSpec{}, nil)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		input, want, found := strings.Cut(line, " => ")
		if strings.HasPrefix(line, "#") || !found {
			rewritten.WriteString(line + "\n")
			continue
		}
		diff := strings.TrimSpace(marshal(t, changes(t, read(input), base)))
		rewritten.WriteString(input + " => " + diff + "\n")
		if diff == "{}" {
			t.Errorf("%s changes nothing in the container", input)
		}
		if diff := cmp.Diff(want, diff); diff != "" && !*rewrite {
			t.Errorf("%s (-want +got):\n%s", input, diff)
		}
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(rewritten.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// changes returns the request as JSON, one level deep in each part, without what is as in base.
func changes(t *testing.T, declared api.DeploymentSpec, base map[string]map[string]any) map[string]map[string]any {
	t.Helper()
	request, err := newRequest(testSpec(declared), testMachine())
	if err != nil {
		return map[string]map[string]any{"error": {"text": err.Error()}}
	}
	networks := map[string]any{}
	for _, e := range request.endpoints {
		networks[e.network] = map[string]any{
			"aliases": e.settings.Aliases, "ipam": e.settings.IPAMConfig, "driver": e.settings.DriverOpts,
			"mac": e.settings.MacAddress,
		}
	}
	out := map[string]map[string]any{}
	for part, value := range map[string]any{
		"config": request.Config, "host": request.HostConfig, "networks": networks,
		"legacy": request.legacy, "create": map[string]any{"platform": request.Platform},
	} {
		raw := marshal(t, value)
		fields := map[string]any{}
		if err := json.Unmarshal([]byte(raw), &fields); err != nil {
			t.Fatal(err)
		}
		for name, value := range fields {
			if before, had := base[part][name]; had && cmp.Equal(before, value) {
				delete(fields, name)
			}
		}
		for name := range base[part] {
			if _, has := fields[name]; !has && !strings.Contains(raw, `"`+name+`"`) {
				fields[name] = "(gone)"
			}
		}
		if len(fields) > 0 {
			out[part] = fields
		}
	}
	return out
}

func marshal(t *testing.T, value any) string {
	t.Helper()
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

// splitArgs parses words and Go strings.
func splitArgs(t *testing.T, text string) []string {
	t.Helper()
	var args []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if quoted, err := strconv.QuotedPrefix(text); err == nil {
			arg, _ := strconv.Unquote(quoted)
			args, text = append(args, arg), text[len(quoted):]
			continue
		}
		arg, rest, _ := strings.Cut(text, " ")
		args, text = append(args, arg), rest
	}
	return args
}

func testSpec(declared api.DeploymentSpec) runtime.ContainerSpec {
	return runtime.ContainerSpec{
		Name: "prod-web.0a1b2c3d", Image: "web:2", Spec: declared, Aliases: []string{"web.prod", "web.prod.tend"},
		Labels: map[string]string{api.LabelTask: "t1"},
	}
}

func testMachine() machine {
	return machine{cluster: "c1", node: "n1", network: "tend0", limits: hardLimits{"nofile": 20000}}
}

func markUsed(used map[string]bool, value any) {
	v := reflect.ValueOf(value)
	for _, field := range reflect.VisibleFields(v.Type()) {
		if !v.FieldByIndex(field.Index).IsZero() {
			used[field.Name] = true
		}
	}
}

// wantComplete fails for a field without a line, so that a new one can't be forgotten.
func wantComplete(t *testing.T, of reflect.Type, used map[string]bool, except []string) {
	t.Helper()
	for _, field := range reflect.VisibleFields(of) {
		name := field.Name
		if field.Anonymous {
			continue
		}
		if !used[name] && !slices.Contains(except, name) {
			t.Errorf("%s.%s: no golden line shows what it becomes", of.Name(), name)
		}
	}
}

// TestAPrivateContainerHasNoNames: the engine answers for aliases on each network, and for the hostname.
func TestAPrivateContainerHasNoNames(t *testing.T) {
	spec := runtime.ContainerSpec{Name: "shop-web.v1-command", Aliases: []string{"web.shop"}, Spec: api.DeploymentSpec{
		Container: api.Container{Hostname: "db.shop", DockerOptions: []string{
			"--hostname=db", "--domainname=example.org", "--network=name=shop_default,alias=db", "--network-alias=store"}}}}
	for private, want := range map[bool]string{
		false: "db.shop example.org [[web.shop] [db store]]", true: "shop-web.v1-command  [[] []]",
	} {
		spec.Private = private
		made, err := newRequest(spec, machine{network: api.Network})
		if err != nil {
			t.Fatal(err)
		}
		var aliases [][]string
		for _, e := range made.endpoints {
			aliases = append(aliases, e.settings.Aliases)
		}
		if got := fmt.Sprint(made.Config.Hostname, " ", made.Config.Domainname, " ", aliases); got != want {
			t.Errorf("private %v: %q, want %q", private, got, want)
		}
	}
}

func TestBaseline(t *testing.T) {
	request, err := newRequest(testSpec(api.DeploymentSpec{}), testMachine())
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(map[string]any{
		"name": request.Name, "image": request.Config.Image, "hostname": request.Config.Hostname,
		"labels": request.Config.Labels,
		"grace":  request.Config.StopTimeout, "restart": request.HostConfig.RestartPolicy,
		"logs":    request.HostConfig.LogConfig,
		"ulimits": request.HostConfig.Ulimits, "hosts": request.HostConfig.ExtraHosts,
		"network": request.HostConfig.NetworkMode,
		"aliases": request.endpoints[0].settings.Aliases,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile("testdata/baseline.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/baseline.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("a container that declares nothing (-want +got):\n%s", diff)
	}
}

// TestFiles: files are mounts, not binds, for which the engine would create a folder if the file is missing.
func TestFiles(t *testing.T) {
	made, err := newRequest(runtime.ContainerSpec{Files: []runtime.File{{Source: "/run/tend/c/secrets/t/0",
		Target: "/run/secrets/db"}}}, machine{})
	if err != nil {
		t.Fatal(err)
	}
	want := []mount.Mount{{Type: mount.TypeBind, Source: "/run/tend/c/secrets/t/0",
		Target: "/run/secrets/db", ReadOnly: true}}
	if diff := cmp.Diff(want, made.HostConfig.Mounts); diff != "" || len(made.HostConfig.Binds) != 0 {
		t.Errorf("binds %v\n%s", made.HostConfig.Binds, diff)
	}
}

// On the platform network a container's name for its node resolves to that network's gateway. A name that the manifest
// declares stays, and without a gateway nothing changes.
func TestReachesItsNodeAtTheGateway(t *testing.T) {
	gateway := netip.MustParseAddr("172.30.0.1")
	for reason, c := range map[string]struct {
		declared api.DeploymentSpec
		gateway  netip.Addr
		want     string
	}{
		"bridged":    {api.DeploymentSpec{}, gateway, "host.docker.internal:172.30.0.1"},
		"no gateway": {api.DeploymentSpec{}, netip.Addr{}, "host.docker.internal:host-gateway"},
		"declared": {api.DeploymentSpec{Container: api.Container{ExtraHosts: []string{"host.docker.internal:10.0.0.1"}}},
			gateway, "host.docker.internal:10.0.0.1"},
	} {
		request, err := newRequest(testSpec(c.declared), testMachine())
		if err != nil {
			t.Fatal(err)
		}
		request.reachNodeAt(c.gateway)
		if got := request.HostConfig.ExtraHosts; len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: the hosts are %v, want %s", reason, got, c.want)
		}
	}
}
