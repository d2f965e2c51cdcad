// Package testimage builds the container image that tests and demonstrations run: one static Go server, FROM scratch,
// so that nothing has to be pulled from anywhere.
//
// It compiles internal/test/testimage/server once per machine, packs it as an image archive whose bytes (and so whose
// id) depend on nothing but its source and version, and loads it into the engine under the tags it is given. It decides
// nothing about containers and removes no image by itself; callers that use unique tags remove them with Remove, and an
// image goes with its last tag.
//
//	err := testimage.Ensure(ctx, "v1", "tend-test/server:v1")
package testimage
