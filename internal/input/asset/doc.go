// Package asset stores the bytes of assets on disk and removes those that nothing needs.
//
// It decides which bytes a URL stands for (fetching only what changed since the last time, and falling back on the last
// ones if the asset says so) and which blobs are still referred to. It never decides which object refers to which file:
// internal/control/verbs stamps that on the objects.
//
//	library := asset.NewLibrary(asset.Options{Blobs: blobs, Cache: root + "/cache"})
//	digest, warning, err := library.Fetch(ctx, file, false, false)
package asset
