// Package manifest turns text into objects: HCL, YAML and JSON, from files, folders, standard input or a request.
//
// It decides what the text means and says precisely what is wrong with it: every error has a file, a line, a column,
// the line itself and a next step, and all errors are reported at once. One decoder reads all three languages; it knows
// the kinds from the structs of api. A spec comes out as canonical JSON exactly as it was written: this package never
// fills in a default.
//
// It never talks to a server or an engine and never decides whether something should run.
//
//	result, err := manifest.Load(manifest.Options{Files: []string{"deploy/"}})
package manifest
