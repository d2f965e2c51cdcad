// Package manifest turns text into objects: HCL, YAML and JSON, from files, folders, standard input or a request.
//
// It decides what the text means and says precisely what is wrong with it: every error has a file, a line, a column, the
// line itself and a next step, and all of them are told at once. One decoder reads all three languages; what it knows of
// the kinds it reads from the structs of api. A spec comes out as canonical JSON exactly as it was written: no default is
// ever filled in here.
//
// It never talks to a server or an engine and never decides whether something should run.
//
//	result, err := manifest.Load(manifest.Options{Files: []string{"deploy/"}})
package manifest
