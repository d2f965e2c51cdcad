package engine

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// helmReleases holds what Helm's own library reads from the Secrets that it wrote. tools/helmrelease makes both files.
type helmReleases struct {
	Releases []struct {
		Secret, Name, Namespace     string
		Revision                    int64
		Status, Chart, ChartVersion string
		Manifest                    string
		Hooks                       []Hook
	}
	Deployed map[string]string
}

func golden(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/helm", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// helmSecrets returns the Secrets that Helm wrote, by name, and what Helm reads from them.
func helmSecrets(t *testing.T) (map[string]corev1.Secret, helmReleases) {
	t.Helper()
	var list []corev1.Secret
	var said helmReleases
	golden(t, "secrets.json", &list)
	golden(t, "releases.json", &said)
	secrets := map[string]corev1.Secret{}
	for _, secret := range list {
		secrets[secret.Name] = secret
	}
	return secrets, said
}

// TestReleasesAreReadAsHelmReadsThem reads the Secrets that Helm wrote, and compares the result with Helm's.
func TestReleasesAreReadAsHelmReadsThem(t *testing.T) {
	secrets, said := helmSecrets(t)
	if len(said.Releases) < 6 || len(said.Releases) != len(secrets) {
		t.Fatalf("%d Secrets and %d releases", len(secrets), len(said.Releases))
	}
	for _, want := range said.Releases {
		secret := secrets[want.Secret]
		if secret.Type != "helm.sh/release.v1" || len(want.Hooks) == 0 {
			t.Errorf("%s: type %s, %d hooks", want.Secret, secret.Type, len(want.Hooks))
		}
		got, err := ReadRelease(secret.Data[ReleaseKey])
		expected := Release{
			Name: want.Name, Revision: want.Revision, Status: want.Status, Chart: want.Chart, ChartVersion: want.ChartVersion,
			Manifest: want.Manifest, Hooks: want.Hooks,
		}
		if err != nil || !reflect.DeepEqual(got, expected) {
			t.Errorf("%s: read %+v, %v; Helm reads %+v", want.Secret, got, err, expected)
		}
	}
}

// TestDeployedRevisionIsHelms: from a history with superseded, deployed and failed revisions in any order, the one that
// Helm considers deployed is taken.
func TestDeployedRevisionIsHelms(t *testing.T) {
	_, said := helmSecrets(t)
	statuses := map[string]bool{}
	for name, want := range said.Deployed {
		var newestFirst, oldestFirst []any
		for _, r := range said.Releases {
			if r.Name != name {
				continue
			}
			statuses[r.Status] = true
			snapshot := map[string]any{"name": r.Name, "version": r.Revision, "chartVersion": r.ChartVersion, "status": r.Status}
			oldestFirst, newestFirst = append(oldestFirst, snapshot), append([]any{snapshot}, newestFirst...)
		}
		for _, history := range [][]any{newestFirst, oldestFirst} {
			helmRelease := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"history": history}}}
			if _, got := ReleaseSecret(helmRelease); got != want {
				t.Errorf("%s: got %q, Helm takes %q", name, got, want)
			}
		}
	}
	for _, status := range []string{"superseded", "deployed", "failed"} {
		if !statuses[status] {
			t.Errorf("no revision is %s", status)
		}
	}
}

// TestReleaseSecretIsWhereFluxSays: the Secret's namespace is the one in which Flux stores releases.
func TestReleaseSecretIsWhereFluxSays(t *testing.T) {
	helmRelease := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"storageNamespace": "flux", "history": []any{map[string]any{"name": "prod-web", "version": int64(3), "status": "deployed"}},
	}}}
	helmRelease.SetNamespace("prod")
	if namespace, name := ReleaseSecret(helmRelease); namespace != "flux" || name != "sh.helm.release.v1.prod-web.v3" {
		t.Errorf("got %s/%s", namespace, name)
	}
	unstructured.RemoveNestedField(helmRelease.Object, "status", "storageNamespace")
	if namespace, _ := ReleaseSecret(helmRelease); namespace != "prod" {
		t.Errorf("got the namespace %s, want the HelmRelease's", namespace)
	}
	unstructured.RemoveNestedField(helmRelease.Object, "status", "history")
	if _, name := ReleaseSecret(helmRelease); name != "" {
		t.Errorf("got %s, and nothing is installed", name)
	}
}

// TestOddReleaseSecrets reads Secrets of very old versions of Helm, and invalid ones.
func TestOddReleaseSecrets(t *testing.T) {
	plain := `{"name":"web","version":3,"info":{"status":"deployed"}}`
	tests := map[string]struct {
		reason string
		data   string
		want   int64
		fails  bool
	}{
		"plain":   {"the oldest Helm did not compress", base64.StdEncoding.EncodeToString([]byte(plain)), 3, false},
		"cut":     {"a release that is cut off", base64.StdEncoding.EncodeToString([]byte("\x1f\x8b\x08cut")), 0, true},
		"no JSON": {"something else", base64.StdEncoding.EncodeToString([]byte("x")), 0, true},
		"no text": {"no base64", "~~~", 0, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ReadRelease([]byte(test.data))
			if (err != nil) != test.fails || got.Revision != test.want {
				t.Errorf("%s: got %+v, %v", test.reason, got, err)
			}
		})
	}
}
