package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// manifest is the file that the demo applies.
const manifest = "examples/hello/hello.hcl"

// variant is a version of the example: an image, or with plain processes a folder with the program.
type variant string

func (v variant) String() string { return "HELLO_IMAGE=" + string(v) }

// prepare makes both versions of the example from nothing but this repository.
func (d *demo) prepare(ctx context.Context) error {
	d.say("Build two versions of examples/hello")
	for i := range d.variants {
		version := fmt.Sprint(i + 1)
		dir := filepath.Join(d.dir, "hello-"+version)
		if err := program(ctx, dir, version); err != nil {
			return err
		}
		d.variants[i] = variant(dir)
		if d.runtime == "docker" {
			var err error
			if d.variants[i], err = dockerImage(ctx, dir, version); err != nil {
				return err
			}
		}
		fmt.Println(string(d.variants[i]))
	}
	return nil
}

// program compiles the example into a folder.
func program(ctx context.Context, dir, version string) error {
	compile := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+version,
		"-o", filepath.Join(dir, "hello"), "./examples/hello")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	compile.Stderr = os.Stderr
	if err := compile.Run(); err != nil {
		return fmt.Errorf("build examples/hello: %w", err)
	}
	return nil
}

// dockerImage builds the Dockerfile with the engine's classic builder: it pulls nothing.
func dockerImage(ctx context.Context, dir, version string) (variant, error) {
	tag := fmt.Sprintf("tend-demo-%d:%s", os.Getpid(), version)
	build := exec.CommandContext(ctx, "docker", "build", "-q", "-t", tag, "-f", "examples/hello/Dockerfile", dir)
	build.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("docker build: %w\n%s", err, out)
	}
	return variant(tag), nil
}
