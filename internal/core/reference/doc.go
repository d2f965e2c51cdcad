// Package reference replaces ${ref.…} and ${asset.…} in the texts of a spec.
//
// Find returns the references of a text, Expand replaces them with the results of lookups, Walk visits every text of a
// decoded spec. The caller decides what a reference stands for: this package reads no object, no file and no clock, and
// never expands the result of a lookup, so no value can introduce a reference.
//
//	spaces := reference.Spaces{api.SpaceRef: facts, api.SpaceAsset: paths}
//	text, err := reference.Expand("http://${ref.deployment.api.address}/", spaces)
//
// A second $ escapes a reference: $${ref.a.b.c} becomes ${ref.a.b.c}.
package reference
