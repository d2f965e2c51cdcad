// Package compose turns Compose files into manifests.
//
// It decides what of a Compose file Tend can say in its own words, and reports everything else: the raw text is walked
// beside what was converted, so that a key nobody converted is told with its place, also one that this version of the
// converter has never heard of. compose-go reads the files, with Compose's own rules for variables, .env, include, extends
// and profiles.
//
// It never talks to a server or an engine, reads no secret, and writes no file.
//
//	result, err := compose.Import(ctx, compose.Options{Files: []string{"compose.yaml"}})
package compose
