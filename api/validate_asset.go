package api

import (
	"maps"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api/pattern"
)

var (
	assetKey    = pattern.Lazy(`^[A-Za-z0-9_-]{1,128}$`)
	assetDigest = pattern.Lazy(`^sha256:[0-9a-f]{64}$`)
)

func (c *checker) asset(s AssetSpec) {
	if len(s.Files) == 0 {
		c.add("files", "is empty: an asset has at least one file")
	}
	if len(s.Files) > MaxAssetFiles {
		c.add("files", "has %d files, at most %d: split it among several assets", len(s.Files), MaxAssetFiles)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		field := key("files", name)
		if !assetKey().MatchString(name) {
			c.add(field, "%q may hold letters, digits, _ and -, at most 128", name)
		}
		c.assetFile(field, s.Files[name])
	}
}

func (c *checker) assetFile(field string, f AssetFile) {
	switch f.Source {
	case AssetInline:
		if len(f.Text) > MaxInlineAsset {
			c.add(field, "is larger than %d bytes: put it into a file and write file(\"…\")", MaxInlineAsset)
		}
	case AssetLocal:
		if f.Path != "" {
			c.add(field+".path", "is read by the client and never sent; apply the manifest with tend apply")
		}
		if (f.Digest == "") == (f.Content == nil) {
			c.add(field, "has either content or digest")
		}
		if f.Digest != "" && !assetDigest().MatchString(f.Digest) {
			c.add(field+".digest", "%q is not sha256: and 64 hex digits", f.Digest)
		}
		if len(f.Content) > MaxInlineAsset {
			c.add(field+".content", "is larger than %d bytes: upload it and give its digest", MaxInlineAsset)
		}
	case AssetURL:
		if !strings.HasPrefix(f.URL, "http://") && !strings.HasPrefix(f.URL, "https://") {
			c.add(field+".url", "%q does not begin with http:// or https://", f.URL)
		}
		c.duration(field+".timeout", f.Timeout, time.Millisecond, MaxFetch)
		c.oneOf(field+".on_failure", f.OnFailure, OnFailureStale, OnFailureError)
	default:
		c.add(field+"._source", "%q is not file or url", f.Source)
	}
}
