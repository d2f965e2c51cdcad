package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// variant is a version of the example, as a manifest takes it: an image, or with plain processes a folder of source.
type variant struct{ variable, value string }

func (v variant) String() string { return v.variable + "=" + v.value }

// prepare makes both versions of the example from nothing but this repository: images for containers; for plain processes
// the source alone, which Tend builds.
func (d *demo) prepare(ctx context.Context) error {
	d.manifest = "examples/hello/hello.hcl"
	if d.runtime != "docker" {
		d.manifest = "examples/hello/source.hcl"
		d.say("Lay out the source of two versions of examples/hello")
	} else {
		d.say("Build two versions of examples/hello, from scratch")
	}
	for i := range d.variants {
		var err error
		version := fmt.Sprint(i + 1)
		dir := filepath.Join(d.dir, "hello-"+version)
		if d.runtime == "docker" {
			d.variants[i], err = dockerImage(ctx, dir, version)
		} else {
			d.variants[i], err = sourceFolder(dir, version)
		}
		if err != nil {
			return err
		}
		fmt.Println(d.variants[i].value)
	}
	return nil
}

// dockerImage builds the Dockerfile with the engine's classic builder: it pulls nothing.
func dockerImage(ctx context.Context, dir, version string) (variant, error) {
	compile := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+version,
		"-o", filepath.Join(dir, "hello"), "./examples/hello")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	compile.Stderr = os.Stderr
	if err := compile.Run(); err != nil {
		return variant{}, fmt.Errorf("build examples/hello: %w", err)
	}
	tag := fmt.Sprintf("tend-demo-%d:%s", os.Getpid(), version)
	build := exec.CommandContext(ctx, "docker", "build", "-q", "-t", tag, "-f", "examples/hello/Dockerfile", dir)
	build.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	if out, err := build.CombinedOutput(); err != nil {
		return variant{}, fmt.Errorf("docker build: %w\n%s", err, out)
	}
	return variant{"HELLO_IMAGE", tag}, nil
}

// sourceFolder is the example as a module of its own, with the version in its text.
func sourceFolder(dir, version string) (variant, error) {
	program, err := os.ReadFile("examples/hello/main.go")
	if err != nil {
		return variant{}, err
	}
	text := strings.Replace(string(program), `version = "dev"`, `version = "`+version+`"`, 1)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return variant{}, err
	}
	for name, content := range map[string]string{"main.go": text, "go.mod": "module hello\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return variant{}, err
		}
	}
	return variant{"HELLO_SOURCE", dir}, nil
}
