// Package reference replaces ${ref.…} and ${asset.…} in the texts of a spec.
//
// Find lists the references of a text, Expand puts in their place what the lookups say, Walk goes through every text of a
// decoded spec. What a reference stands for is the caller's to know: this package reads no object, no file and no clock,
// and never expands what a lookup gave, so no value can smuggle in a reference.
//
//	spaces := reference.Spaces{api.SpaceRef: facts, api.SpaceAsset: paths}
//	text, err := reference.Expand("http://${ref.deployment.api.address}/", spaces)
//
// A reference written with a second $ stands for itself: $${ref.a.b.c} becomes ${ref.a.b.c}.
package reference
