package testimage

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
)

// archive packs the binary the way `docker save` does. Nothing in it depends on the time or the machine, so the same
// server and version are the same image id everywhere.
func archive(binary []byte, version string, tags []string) (packed []byte, id string, err error) {
	layer, err := pack(
		entry{name: "tmp/", mode: 0o1777},
		entry{name: "data/", mode: 0o777},
		entry{name: "server", mode: 0o755, data: binary},
	)
	if err != nil {
		return nil, "", err
	}
	config, err := json.Marshal(imageConfig(layer, version))
	if err != nil {
		return nil, "", err
	}
	configName := digest(config) + ".json"
	manifest, err := json.Marshal([]map[string]any{{
		"Config": configName, "RepoTags": fullTags(tags), "Layers": []string{"layer.tar"},
	}})
	if err != nil {
		return nil, "", err
	}
	packed, err = pack(
		entry{name: configName, mode: 0o644, data: config},
		entry{name: "layer.tar", mode: 0o644, data: layer},
		entry{name: "manifest.json", mode: 0o644, data: manifest},
	)
	return packed, "sha256:" + digest(config), err
}

// fullTags adds the default tag, which an archive, unlike every other place, does not imply.
func fullTags(tags []string) []string {
	full := make([]string, 0, len(tags))
	for _, tag := range tags {
		repository, name := splitTag(tag)
		full = append(full, repository+":"+name)
	}
	return full
}

func splitTag(reference string) (repository, tag string) {
	if at := strings.LastIndex(reference, ":"); at > strings.LastIndex(reference, "/") {
		return reference[:at], reference[at+1:]
	}
	return reference, "latest"
}

// imageConfig has a CMD and no ENTRYPOINT, so that `command = ["/server", "exit", "3"]` reads as it runs.
func imageConfig(layer []byte, version string) map[string]any {
	return map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"created":      "2026-01-01T00:00:00Z",
		"config": map[string]any{
			"Env":          []string{"PATH=/", "VERSION=" + version},
			"Cmd":          []string{"/server"},
			"WorkingDir":   "/",
			"ExposedPorts": map[string]any{"8080/tcp": map[string]any{}},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
		"history": []map[string]any{{"created": "2026-01-01T00:00:00Z", "created_by": "tend testimage"}},
	}
}

type entry struct {
	name string
	mode int64
	data []byte
}

func pack(entries ...entry) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data)), Typeflag: tar.TypeReg,
			Format: tar.FormatUSTAR}
		if e.data == nil {
			header.Typeflag = tar.TypeDir
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", e.name, err)
		}
		if _, err := writer.Write(e.data); err != nil {
			return nil, fmt.Errorf("pack %s: %w", e.name, err)
		}
	}
	err := writer.Close()
	return buffer.Bytes(), err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
