package testimage

import (
	"bytes"
	"context"
	"fmt"
	"os"
)

// Program is the server's path in the image: a container's command is Program and its arguments.
const Program = "/server"

// Ensure makes every tag name the image of the version, which answers "hello <version> from <hostname>". An image that
// is loaded already is only tagged.
func Ensure(ctx context.Context, version string, tags ...string) error {
	engine, err := dialEngine()
	if err != nil {
		return err
	}
	packed, id, err := packVersion(ctx, version, tags)
	if err != nil {
		return err
	}
	if tagAll(ctx, engine, id, tags) == nil {
		return nil
	}
	if err := engine.load(ctx, bytes.NewReader(packed)); err != nil {
		return fmt.Errorf("load the test image %s: %w", version, err)
	}
	return nil
}

// Remove drops tags; the image itself is removed with its last one.
func Remove(ctx context.Context, tags ...string) error {
	engine, err := dialEngine()
	if err != nil {
		return err
	}
	for _, tag := range tags {
		if err := engine.untag(ctx, tag); err != nil {
			return err
		}
	}
	return nil
}

// Archive returns the image of a version in the format of `docker save`, for tests that push it to a registry or unpack
// it.
func Archive(ctx context.Context, version string, tags ...string) ([]byte, error) {
	packed, _, err := packVersion(ctx, version, tags)
	return packed, err
}

func packVersion(ctx context.Context, version string, tags []string) (packed []byte, id string, err error) {
	path, err := Binary(ctx)
	if err != nil {
		return nil, "", err
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	return archive(binary, version, tags)
}

func tagAll(ctx context.Context, engine *engine, id string, tags []string) error {
	for _, tag := range tags {
		if err := engine.tag(ctx, id, tag); err != nil {
			return fmt.Errorf("tag the test image as %s: %w", tag, err)
		}
	}
	return nil
}
