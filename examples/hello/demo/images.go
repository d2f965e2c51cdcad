package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// buildImages makes both versions of the example from nothing but this repository.
func (d *demo) buildImages(ctx context.Context) error {
	d.say("Build two versions of examples/hello, from scratch")
	for i := range d.images {
		version := fmt.Sprint(i + 1)
		dir := filepath.Join(d.dir, "hello-"+version)
		if err := compile(ctx, version, filepath.Join(dir, "hello")); err != nil {
			return err
		}
		var err error
		if d.runtime == "docker" {
			d.images[i], err = dockerImage(ctx, dir, version)
		} else {
			d.images[i], err = ociImage(dir, version)
		}
		if err != nil {
			return err
		}
		fmt.Println(d.images[i])
	}
	return nil
}

func compile(ctx context.Context, version, path string) error {
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+version, "-o", path, "./examples/hello")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build examples/hello: %w", err)
	}
	return nil
}

// dockerImage builds the Dockerfile with the engine's classic builder: it pulls nothing.
func dockerImage(ctx context.Context, dir, version string) (string, error) {
	tag := fmt.Sprintf("tend-demo-%d:%s", os.Getpid(), version)
	build := exec.CommandContext(ctx, "docker", "build", "-q", "-t", tag, "-f", "examples/hello/Dockerfile", dir)
	build.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("docker build: %w\n%s", err, out)
	}
	return tag, nil
}

// ociImage lays the binary out as an OCI image folder, which the process runtime takes.
func ociImage(dir, version string) (string, error) {
	binary, err := os.ReadFile(filepath.Join(dir, "hello"))
	if err != nil {
		return "", err
	}
	packed, err := pack("hello", binary)
	if err != nil {
		return "", err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil })
	if err != nil {
		return "", err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return "", err
	}
	image, err = mutate.Config(image, v1.Config{Entrypoint: []string{"/hello"}})
	if err != nil {
		return "", err
	}
	path, err := layout.Write(filepath.Join(dir, "image"), empty.Index)
	if err != nil {
		return "", err
	}
	return string(path), path.AppendImage(image)
}

func pack(name string, content []byte) ([]byte, error) {
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
		return nil, err
	}
	if _, err := archive.Write(content); err != nil {
		return nil, err
	}
	return buffer.Bytes(), archive.Close()
}
