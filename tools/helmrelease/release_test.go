package helmrelease

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	kubefake "helm.sh/helm/v4/pkg/kube/fake"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
)

var update = flag.Bool("update", false, "write the golden files")

// golden is the folder with the files that the tests of internal/operator/engine read: the Secrets, and what Helm reads
// in them.
const golden = "../../internal/operator/engine/testdata/helm"

// read holds the values that Helm reads in a Secret.
type read struct {
	Secret       string `json:"secret"`
	Name         string `json:"name"`
	Namespace    string `json:"namespace"`
	Revision     int    `json:"revision"`
	Status       string `json:"status"`
	Chart        string `json:"chart"`
	ChartVersion string `json:"chartVersion"`
	Manifest     string `json:"manifest"`
	Hooks        []hook `json:"hooks"`
}

type hook struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Manifest string   `json:"manifest"`
	Events   []string `json:"events"`
}

// releases is the file with the values that Helm reads.
type releases struct {
	// Releases are all revisions of all releases.
	Releases []read `json:"releases"`
	// Deployed maps a release's name to the Secret of the revision that Helm counts as deployed, or to "".
	Deployed map[string]string `json:"deployed"`
}

// helm is Helm with a cluster that accepts everything, except while broken.
type helm struct {
	*testing.T
	config *action.Configuration
	kube   *kubefake.FailingKubeClient
	stored *secrets
}

func newHelm(t *testing.T) *helm {
	stored := &secrets{stored: map[string]*corev1.Secret{}}
	kube := &kubefake.FailingKubeClient{PrintingKubeClient: kubefake.PrintingKubeClient{Out: io.Discard}}
	config := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	config.Releases, config.KubeClient, config.Capabilities = storage.Init(driver.NewSecrets(stored)), kube,
		common.DefaultCapabilities
	return &helm{T: t, config: config, kube: kube, stored: stored}
}

// chart returns the chart of testdata with a version.
func (h *helm) chart(version string) *chart.Chart {
	h.Helper()
	loaded, err := loader.LoadDir("testdata/web")
	if err != nil {
		h.Fatal(err)
	}
	loaded.Metadata.Version = version
	return loaded
}

func (h *helm) install(name, version string, broken bool) {
	h.Helper()
	install := action.NewInstall(h.config)
	install.ReleaseName, install.Namespace, install.Timeout = name, "prod", time.Minute
	h.run(broken, func() error { _, err := install.Run(h.chart(version), nil); return err })
}

func (h *helm) upgrade(name, version string, broken bool) {
	h.Helper()
	upgrade := action.NewUpgrade(h.config)
	upgrade.Namespace, upgrade.Timeout = "prod", time.Minute
	h.run(broken, func() error { _, err := upgrade.Run(name, h.chart(version), map[string]any{"level": 4}); return err })
}

// run runs an action that succeeds, or fails because the cluster is broken.
func (h *helm) run(broken bool, do func() error) {
	h.Helper()
	if broken {
		h.kube.WaitError = errors.New("the pods do not get ready")
		defer func() { h.kube.WaitError = nil }()
	}
	if err := do(); (err != nil) != broken {
		h.Fatalf("an action on a cluster that is broken=%v: %v", broken, err)
	}
}

// TestReleaseSecrets makes releases with Helm, and checks that Helm reads the same in its Secrets and in the golden
// files as the golden files state.
func TestReleaseSecrets(t *testing.T) {
	made := newHelm(t)
	made.install("web", "1.0.0", false)
	made.upgrade("web", "1.1.0", false) // the deployed revision
	made.upgrade("web", "1.2.0", true)
	made.install("broken", "1.0.0", true) // never deployed
	made.install("renewed", "1.0.0", true)
	made.upgrade("renewed", "1.1.0", false)
	now := made.read()
	files := map[string]any{
		"secrets.json": slices.SortedFunc(maps.Values(made.stored.stored),
			func(a, b *corev1.Secret) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) }),
		"releases.json": now,
	}
	if *update {
		for name, content := range files {
			write(t, name, content)
		}
	}
	var kept []*corev1.Secret
	var said releases
	load(t, "secrets.json", &kept)
	load(t, "releases.json", &said)
	stored := newHelm(t)
	for _, secret := range kept {
		stored.stored.stored[secret.Name] = secret
	}
	if again := stored.read(); !reflect.DeepEqual(again, said) {
		t.Errorf("Helm reads %+v in secrets.json, and releases.json says %+v: run with -update", again, said)
	}
	if !reflect.DeepEqual(now, said) {
		t.Errorf("Helm makes %+v, and releases.json says %+v: run with -update", now, said)
	}
}

// read returns the values that Helm reads in all Secrets.
func (h *helm) read() releases {
	h.Helper()
	all := releases{Deployed: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(h.stored.stored)) {
		found, err := driver.NewSecrets(h.stored).Get(key)
		if err != nil {
			h.Fatal(err)
		}
		r := found.(*release.Release)
		one := read{
			Secret: key, Name: r.Name, Namespace: r.Namespace, Revision: r.Version, Status: r.Info.Status.String(),
			Chart: r.Chart.Metadata.Name, ChartVersion: r.Chart.Metadata.Version, Manifest: r.Manifest,
		}
		for _, declared := range r.Hooks {
			events := make([]string, len(declared.Events))
			for i, event := range declared.Events {
				events[i] = event.String()
			}
			one.Hooks = append(one.Hooks, hook{Name: declared.Name, Kind: declared.Kind,
				Manifest: declared.Manifest, Events: events})
		}
		all.Releases = append(all.Releases, one)
		all.Deployed[r.Name] = ""
	}
	for name := range all.Deployed {
		deployed, err := h.config.Releases.Deployed(name)
		if errors.Is(err, driver.ErrNoDeployedReleases) {
			continue
		}
		if err != nil {
			h.Fatal(err)
		}
		for _, one := range all.Releases {
			if one.Name == name && one.Revision == deployed.(*release.Release).Version {
				all.Deployed[name] = one.Secret
			}
		}
	}
	return all
}

func write(t *testing.T, name string, content any) {
	t.Helper()
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(golden, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(golden, name), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(golden, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
