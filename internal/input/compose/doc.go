// Package compose turns Compose files into manifests.
//
// It decides what of a Compose file Tend can express, and reports everything else: it walks the raw text beside what
// was converted, so that every key that was not converted is reported with its position, also one that this version of
// the converter doesn't know. compose-go reads the files, with Compose's own rules for variables, .env, include,
// extends and profiles.
//
// Each finding has a weight: what breaks needs a person before the manifests are applied, what changes behaviour needs
// a reader, a trifle nobody. Result.Report writes them in that order, with the steps that follow. A value that Tend
// refuses is left out alone, whatever list or table it stands in.
//
// It never talks to a server or an engine, reads no secret, and writes no file.
//
//	result, err := compose.Import(ctx, compose.Options{Files: []string{"compose.yaml"}})
package compose
