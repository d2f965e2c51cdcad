package compose

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"

	"tend.dev/tend/internal/test/race"
)

// silent are values of the file with every key whose absence changes nothing, each with the reason.
var silent = map[string]string{
	"version":                          "Compose itself ignores it",
	"services.all.healthcheck.retries": "3 is the default",
	"services.all.deploy.mode":         "replicated is the default",
	"services.all.logging.driver":      "json-file is the default",
	"services.all.ports[2].mode":       "one machine has one way to publish a port",
	"services.all.ports[2].protocol":   "tcp is the default",
	"jobs.report.profiles[0]":          "what must be asked for by a profile is a job, which must be asked for",
	"services.all.deploy.resources.reservations.devices[0].capabilities[0]": "gpu is the only kind there is",
	"services.all.links[0]":                         "it depends on the service, too",
	"services.all.volumes[2].bind.create_host_path": "Tend makes no folder",
	"networks.out.driver":                           "the driver doesn't matter to services that meet",
	"networks.out.attachable":                       "any container may join tend0",
	"networks.out.enable_ipv4":                      "containers have IPv4 addresses",
	"volumes.named.driver":                          "local is the default",
	"volumes.other.external":                        "a volume is mounted by its name, its maker doesn't matter",
	"configs.placed.name":                           "the asset goes by the name in the file",
	"secrets.placedsecret.name":                     "the bucket's key goes by the name in the file",
	"secrets.far.name":                              "the bucket's key goes by the name in the file",
}

// quiet are values of the corpus whose absence changes nothing, by archive and path, each with the reason.
var quiet = map[string]string{
	"build_secrets services.web.build.context":                                         "the file's folder is the default",
	"build_target services.web.build.context":                                          "the file's folder is the default",
	"depends_optional services.web.depends_on.db.condition":                            "service_started is the default",
	"depends_optional services.web.depends_on.cache.condition":                         "service_started is the default",
	"gpus_deploy services.ai.deploy.resources.reservations.devices[0].driver":          "nvidia is the default",
	"gpus_deploy services.ai.deploy.resources.reservations.devices[0].capabilities[0]": "gpu is the only kind there is",
	"gpus_ids services.ai.deploy.resources.reservations.devices[0].driver":             "nvidia is the default",
	"gpus_ids services.ai.deploy.resources.reservations.devices[0].capabilities[0]":    "gpu is the only kind there is",
	"job_on_request jobs.seed.triggers.manual":                                         "a job without a schedule runs on request",
	"links_alias services.web.links[1]":                                                "the other link orders the start, too",
	"logging services.web.logging.driver":                                              "json-file is the default",
	"mode_bridge services.web.network_mode":                                            "a network with addresses of its own is the default",
	"network_default services.web.networks[0]":                                         "the default network is the default",
	"network_ipv6 networks.six.attachable":                                             "any container may join tend0",
	"network_own networks.front.driver":                                                "bridge is the default",
	"ports_long services.web.ports[0].protocol":                                        "tcp is the default",
	"ports_long services.web.ports[0].mode":                                            "one machine has one way to publish a port",
	"restart_any services.web.deploy.restart_policy.condition":                         "any is the default",
	"traefik_host_shared services.api.labels[1]":                                       "another router of the host has TLS",
	"build_image_shared services.web.build.context":                                    "the file's folder is the default",
	"version version":                       "Compose itself ignores it",
	"volume_external volumes.data.external": "a volume is mounted by its name, its maker doesn't matter",
	"volume_local volumes.data.driver":      "local is the default",
	"volume_nfs volumes.data.driver":        "local is the default",
}

// TestNoKeyIsSilent: remove any one value from the file with every key, and the manifests or the report change: nothing
// in the file is ignored. A value within something that is reported as a whole need not be reported again.
func TestNoKeyIsSilent(t *testing.T) {
	checked := noKeyIsSilent(t, "testdata/everything.txtar", silent)
	if checked < 120 {
		t.Errorf("only %d values were taken out", checked)
	}
}

// TestNoKeyOfTheCorpusIsSilent: the same of each file of the corpus.
func TestNoKeyOfTheCorpusIsSilent(t *testing.T) {
	checked := 0
	for _, name := range corpus(t) {
		excused := map[string]string{}
		for path, reason := range quiet {
			if rest, of := strings.CutPrefix(path, nameOf(name)+" "); of {
				excused[rest] = reason
			}
		}
		t.Run(nameOf(name), func(t *testing.T) { checked += noKeyIsSilent(t, name, excused) })
	}
	if checked < 400 {
		t.Errorf("only %d values were taken out", checked)
	}
}

func noKeyIsSilent(t *testing.T, name string, excuses map[string]string) (checked int) {
	dir, file := project(t, name)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if result, _, _ := imported(t, dir,
		Options{Files: []string{file}, Environment: []string{"FROM_SHELL=x", "TAG=1"}}); result == nil {
		return 0 // it can't be imported, and the golden file has the error
	}
	whole := wholeReport(t, dir, file)
	eachCut(document.Content[0], "", lostIn(whole), func(path string) {
		if checked++; checked%race.Few != 0 {
			return
		}
		cut, err := yaml.Marshal(&document)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, cut, 0o644); err != nil {
			t.Fatal(err)
		}
		_, excused := excuses[path]
		if same := wholeReport(t, dir, file) == whole; same && !excused {
			t.Errorf("%s: it is in the file, and no report mentions it", path)
		} else if !same && excused {
			t.Errorf("%s: it is reported; take it off the list", path)
		}
	})
	return checked
}

// project unpacks an archive and returns its first file.
func project(t *testing.T, name string) (dir, file string) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dir, files := unpack(t, archive)
	return dir, files[0]
}

var position = regexp.MustCompile(`\.yaml:\d+:\d+`)

// wholeReport returns everything an import reports, without the positions: these change when something is removed.
func wholeReport(t *testing.T, dir, file string) string {
	_, text, report := imported(t, dir,
		Options{Files: []string{file}, Environment: []string{"FROM_SHELL=x", "TAG=1"}, valid: true})
	lines := strings.Split(position.ReplaceAllString(report, ".yaml"), "\n")
	slices.Sort(lines)
	return text + strings.Join(lines, "\n")
}

// lostIn returns the paths a report calls lost.
func lostIn(report string) map[string]bool {
	lost := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)\.yaml: (\S+): not carried`).FindAllStringSubmatch(report, -1) {
		lost[match[1]] = true
	}
	return lost
}

// eachCut removes in turn each scalar value, and each value that is lost as a whole.
func eachCut(n *yaml.Node, path string, lost map[string]bool, visit func(path string)) {
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	whole := n.Content
	for i := 0; i+step <= len(whole); i += step {
		here, value := fmt.Sprintf("%s[%d]", path, i), whole[i+step-1]
		if step == 2 {
			here = join(path, whole[i].Value)
		}
		if value.Kind != yaml.ScalarNode && !lost[here] {
			eachCut(value, here, lost, visit)
			continue
		}
		n.Content = slices.Concat(whole[:i], whole[i+step:])
		visit(here)
		n.Content = whole
	}
}

// TestEveryKeyIsThere: the file with every key has every key compose-go knows, so that a new one is noticed.
func TestEveryKeyIsThere(t *testing.T) {
	_, file := project(t, "testdata/everything.txtar")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// the specification no longer has them
	older := []string{"net", "dockerfile", "log_driver", "log_opt", "volume_driver", "extends"}
	for _, of := range []reflect.Type{
		reflect.TypeFor[types.ContainerSpec](), reflect.TypeFor[types.WorkloadSpec](), reflect.TypeFor[types.ServiceConfig](),
		reflect.TypeFor[types.DeployConfig](), reflect.TypeFor[types.HealthCheckConfig](),
		reflect.TypeFor[types.ServicePortConfig](),
		reflect.TypeFor[types.UpdateConfig](), reflect.TypeFor[types.RestartPolicy](), reflect.TypeFor[types.TriggerConfig](),
		reflect.TypeFor[types.ScheduleConfig](), reflect.TypeFor[types.ServiceNetworkConfig](),
		reflect.TypeFor[types.BlkioConfig](),
	} {
		for field := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(field).Tag.Get("yaml"), ",")
			if name == "" || name == "-" || name == "name" || strings.HasPrefix(name, "#") || slices.Contains(older, name) {
				continue
			}
			if !bytes.Contains(text, []byte(name+":")) {
				t.Errorf("%s: %s is not in %s", of.Name(), name, filepath.Base(file))
			}
		}
	}
}
