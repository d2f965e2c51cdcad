package fluxtest

import (
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

const (
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.cncf.helm.config.v1+json"
	typeChart    = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// Repository serves charts over TLS on a loopback address: as an OCI registry below /v2/, and as a Helm repository with
// an index below /charts/.
type Repository struct {
	server *httptest.Server

	mu sync.Mutex
	// blobs are stored by digest, manifests by <name>:<tag> and <name>@<digest>; entries are those of the index.
	blobs, manifests, files map[string][]byte
	entries                 map[string][]map[string]any
}

// Serve starts a repository without charts.
func Serve() *Repository {
	r := &Repository{
		blobs: map[string][]byte{}, manifests: map[string][]byte{}, files: map[string][]byte{},
		entries: map[string][]map[string]any{},
	}
	handler := http.NewServeMux()
	handler.HandleFunc("GET /v2/{$}", func(http.ResponseWriter, *http.Request) {})
	handler.HandleFunc("GET /v2/charts/{name}/manifests/{reference}", r.manifest)
	handler.HandleFunc("GET /v2/charts/{name}/blobs/{digest}", r.blob)
	handler.HandleFunc("GET /charts/index.yaml", r.index)
	handler.HandleFunc("GET /charts/{file}", r.file)
	r.server = httptest.NewTLSServer(handler)
	return r
}

// Close stops the repository.
func (r *Repository) Close() { r.server.Close() }

// Authority returns the certificate, in PEM, that signed the repository's.
func (r *Repository) Authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
}

// URL returns the charts' address for a source of a type, oci or helm.
func (r *Repository) URL(source string) string {
	if source == "helm" {
		return r.server.URL + "/charts"
	}
	return "oci://" + strings.TrimPrefix(r.server.URL, "https://") + "/charts"
}

// Push adds a chart to both kinds of repositories. The index lists it once, even if it is pushed again.
func (r *Repository) Push(chart Chart) error {
	packed, err := chart.pack()
	if err != nil {
		return err
	}
	described, err := json.Marshal(map[string]any{"apiVersion": "v2", "name": chart.Name, "version": chart.Version})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": typeManifest, "config": descriptor(typeConfig, described), "layers": []any{descriptor(typeChart, packed)},
	})
	if err != nil {
		return err
	}
	file := chart.Name + "-" + chart.Version + ".tgz"
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blobs[digest(described)], r.blobs[digest(packed)] = described, packed
	r.manifests[chart.Name+":"+strings.ReplaceAll(chart.Version, "+", "_")] = manifest
	r.manifests[chart.Name+"@"+digest(manifest)] = manifest
	if r.files[file] == nil {
		r.entries[chart.Name] = append(r.entries[chart.Name], map[string]any{
			"apiVersion": "v2", "name": chart.Name, "version": chart.Version, "urls": []string{file}, "created": "2026-01-01T00:00:00Z",
		})
	}
	r.files[file] = packed
	return nil
}

func digest(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

func descriptor(mediaType string, content []byte) map[string]any {
	return map[string]any{"mediaType": mediaType, "digest": digest(content), "size": len(content)}
}

func (r *Repository) manifest(w http.ResponseWriter, request *http.Request) {
	name, reference := request.PathValue("name"), request.PathValue("reference")
	r.mu.Lock()
	found := r.manifests[name+":"+reference]
	if strings.HasPrefix(reference, "sha256:") {
		found = r.manifests[name+"@"+reference]
	}
	r.mu.Unlock()
	if found == nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`))
		return
	}
	w.Header().Set("Docker-Content-Digest", digest(found))
	answer(w, typeManifest, found)
}

func (r *Repository) blob(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	found := r.blobs[request.PathValue("digest")]
	r.mu.Unlock()
	answer(w, "application/octet-stream", found)
}

func (r *Repository) file(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	found := r.files[request.PathValue("file")]
	r.mu.Unlock()
	answer(w, "application/gzip", found)
}

// index answers with JSON, which is YAML too.
func (r *Repository) index(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "entries": r.entries})
	r.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, "application/yaml", text)
}

func answer(w http.ResponseWriter, mediaType string, content []byte) {
	if content == nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	_, _ = w.Write(content)
}
