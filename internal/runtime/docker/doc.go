// Package docker runs containers on a Docker engine (API 1.40 and up). It is the only package that imports the engine's
// client library.
//
// It decides how a spec reads in the engine's API, whose a container is (the cluster label; everything without it is
// left alone, even when asked for by id), and what the engine's errors mean: a spec at fault is a RejectedError with a
// next step, an engine that is away is ErrUnavailable, and anything else is passed on. It never decides when a
// container starts, heals or goes.
//
//	rt, err := docker.New(ctx, docker.Options{Cluster: uid, Node: "local"})
//
// The way from a spec to the engine is pure and in files of its own (spec*.go, options*.go); the calls are beside it.
package docker
