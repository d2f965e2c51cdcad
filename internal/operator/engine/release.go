package engine

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Release is a revision of a Helm release, with the fields that engines need. Helm's own record has more.
type Release struct {
	// Name is the release's name.
	Name string
	// Revision counts the installs, upgrades and rollbacks from 1.
	Revision int64
	// Status is Helm's status of the revision, such as deployed, superseded or failed.
	Status string
	// Chart and ChartVersion are the installed ones.
	Chart, ChartVersion string
	// Manifest holds the rendered objects without the hooks, in YAML.
	Manifest string
	// Hooks are the rendered hooks.
	Hooks []Hook
}

// Hook is a hook of a Helm release.
type Hook struct {
	// Name and Kind are those of its object.
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Manifest is the object in YAML, as the chart rendered it.
	Manifest string `json:"manifest"`
	// Events lists the hook events at which Helm runs it, such as pre-upgrade.
	Events []string `json:"events"`
}

// maxRelease is the largest release that is decoded: the Secret has at most 1 MiB, and compresses well.
const maxRelease = 64 << 20

// ReleaseKey is the key of the Secret's data that holds the release.
const ReleaseKey = "release"

// deployed is the status of the revision that Helm considers current.
const deployed = "deployed"

// ReleaseSecret returns the namespace and name of the Secret with the deployed revision of a HelmRelease, or empty
// names. Of several deployed revisions it takes the newest, as Helm does; an upgrade that failed or is under way
// doesn't count. Flux's history names the revisions, so Secrets need not be listed.
func ReleaseSecret(helmRelease *unstructured.Unstructured) (namespace, name string) {
	var latest release
	for _, r := range history(helmRelease) {
		if r.status == deployed && r.revision >= latest.revision {
			latest = r
		}
	}
	if latest.revision == 0 || latest.name == "" {
		return "", ""
	}
	namespace = text(helmRelease, "status", "storageNamespace")
	if namespace == "" {
		namespace = helmRelease.GetNamespace()
	}
	return namespace, fmt.Sprintf("sh.helm.release.v1.%s.v%d", latest.name, latest.revision)
}

// ReadRelease reads a release from the data of its Secret: JSON, compressed by gzip, in base64.
func ReadRelease(data []byte) (Release, error) {
	plain, err := unpack(data)
	if err != nil {
		return Release{}, err
	}
	var stored struct {
		Name    string `json:"name"`
		Version int64  `json:"version"`
		Info    struct {
			Status string `json:"status"`
		} `json:"info"`
		Chart struct {
			Metadata struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"metadata"`
		} `json:"chart"`
		Manifest string `json:"manifest"`
		Hooks    []Hook `json:"hooks"`
	}
	if err := json.Unmarshal(plain, &stored); err != nil {
		return Release{}, fmt.Errorf("read the Helm release: %w", err)
	}
	return Release{
		Name: stored.Name, Revision: stored.Version, Status: stored.Info.Status, Manifest: stored.Manifest,
		Hooks: stored.Hooks,
		Chart: stored.Chart.Metadata.Name, ChartVersion: stored.Chart.Metadata.Version,
	}, nil
}

// unpack returns the JSON of a stored release.
func unpack(data []byte) ([]byte, error) {
	packed := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err := base64.StdEncoding.Decode(packed, data)
	if err != nil {
		return nil, fmt.Errorf("decode the Helm release: %w", err)
	}
	plain := packed[:n]
	if !bytes.HasPrefix(plain, []byte{0x1f, 0x8b, 0x08}) { // very old releases are not compressed
		return plain, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(plain))
	if err != nil {
		return nil, fmt.Errorf("decompress the Helm release: %w", err)
	}
	if plain, err = io.ReadAll(io.LimitReader(reader, maxRelease+1)); err != nil {
		return nil, fmt.Errorf("decompress the Helm release: %w", err)
	}
	if len(plain) > maxRelease {
		return nil, fmt.Errorf("the Helm release has more than %d bytes", maxRelease)
	}
	return plain, nil
}
