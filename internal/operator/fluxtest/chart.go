package fluxtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Chart is a chart with one ConfigMap, "<release>-config", which holds the chart's version and the value note.
type Chart struct {
	// Name and Version are the chart's. Required.
	Name, Version string
	// Broken adds an object after the ConfigMap that every API server refuses.
	Broken bool
}

// config contains the version literally: templates of an OCI chart see a version to which Flux has added a digest.
const config = `apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-config"}
data: {version: VERSION, note: {{ .Values.note | quote }}}
`

const broken = `apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-zz"}
data: {Not A Key: x}
`

// pack returns the chart as a compressed tar file.
func (c Chart) pack() ([]byte, error) {
	files := map[string]string{
		"Chart.yaml":            fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %q\n", c.Name, c.Version),
		"values.yaml":           "note: none\n",
		"templates/config.yaml": strings.ReplaceAll(config, "VERSION", strconv.Quote(c.Version)),
	}
	if c.Broken {
		files["templates/zz.yaml"] = broken
	}
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: c.Name + "/" + name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write([]byte(files[name])); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	err := zipped.Close()
	return packed.Bytes(), err
}
