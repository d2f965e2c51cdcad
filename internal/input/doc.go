// Package input holds what turns what people write into values: manifests and Compose files into objects, a folder of
// source into an image's parts, an asset's URL into bytes.
//
// It needs no server. It decides what text means, never whether it may be applied.
package input
