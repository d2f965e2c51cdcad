// Package docker runs containers on a Docker engine (API 1.40 and up). It is the only package that imports the engine's
// client library.
//
// It decides how a spec maps to the engine's API, which containers belong to the cluster (those with the cluster label;
// everything else is left alone, even if requested by id), and what the engine's errors mean: a spec at fault is a
// RejectedError with a next step, an engine that is away is ErrUnavailable, and any other error is passed on. It never
// decides when a container is started, healed or removed.
//
//	rt, err := docker.New(ctx, docker.Options{Cluster: uid, Node: "local"})
//
// The mapping from a spec to the engine's API is pure and in files of its own (spec*.go, options*.go); the calls are
// beside it.
package docker
