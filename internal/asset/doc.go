// Package asset brings the bytes of assets to the disk and takes away those nobody needs.
//
// It decides which bytes a URL stands for (asking only for what changed since the last time, and falling back on the
// last ones where the asset says so) and which blobs are still referred to. It never decides which object refers to
// which file: that is what internal/intent stamps on the objects.
//
//	library := asset.NewLibrary(asset.Options{Blobs: blobs, Cache: root + "/cache"})
//	digest, warning, err := library.Fetch(ctx, file, false)
package asset
