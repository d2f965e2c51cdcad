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

// Hook is a hook of a Helm release.
type Hook struct {
	// Name and Kind are those of its object.
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Manifest is the object in YAML, as the chart rendered it.
	Manifest string `json:"manifest"`
	// Events are when Helm runs it, such as pre-upgrade.
	Events []string `json:"events"`
}

// maxRelease is the largest release that is decoded: the Secret has at most 1 MiB, and compresses well.
const maxRelease = 64 << 20

// ReleaseKey is the key of the Secret's data that holds the release.
const ReleaseKey = "release"

// ReleaseSecret returns the namespace and the name of the Secret in which Helm keeps the newest revision of a HelmRelease,
// or "" if nothing is installed. Flux's history names the revision, so that no Secrets need be listed.
func ReleaseSecret(helmRelease *unstructured.Unstructured) (namespace, name string) {
	latest := latestRelease(helmRelease)
	if latest.revision == 0 || latest.name == "" {
		return "", ""
	}
	namespace = text(helmRelease, "status", "storageNamespace")
	if namespace == "" {
		namespace = helmRelease.GetNamespace()
	}
	return namespace, fmt.Sprintf("sh.helm.release.v1.%s.v%d", latest.name, latest.revision)
}

// Hooks returns the hooks of a release from the data of its Secret: JSON, compressed by gzip, in base64. A release
// without hooks has an empty list, which is not nil.
func Hooks(data []byte) ([]Hook, error) {
	packed := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err := base64.StdEncoding.Decode(packed, data)
	if err != nil {
		return nil, fmt.Errorf("decode the Helm release: %w", err)
	}
	plain := packed[:n]
	if bytes.HasPrefix(plain, []byte{0x1f, 0x8b, 0x08}) { // the oldest releases are not compressed
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
	}
	var stored struct {
		Hooks []Hook `json:"hooks"`
	}
	if err := json.Unmarshal(plain, &stored); err != nil {
		return nil, fmt.Errorf("read the Helm release: %w", err)
	}
	if stored.Hooks == nil {
		stored.Hooks = []Hook{}
	}
	return stored.Hooks, nil
}
