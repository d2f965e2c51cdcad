package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// MaxInlineAsset bounds a file's bytes within a manifest; larger ones go by digest, uploaded before the apply.
const MaxInlineAsset = 256 << 10

// MaxFetch bounds AssetFile.Timeout: an apply waits for it.
const MaxFetch = 90 * time.Second

// MaxAssetBytes bounds one file of an asset.
const MaxAssetBytes = 512 << 20

// MaxAssetFiles bounds the files of one asset.
const MaxAssetFiles = 10_000

// AssetSpec declares files that others mount.
type AssetSpec struct {
	// Files are keyed by [A-Za-z0-9_-]+. In HCL the keys stand in the block itself.
	Files map[string]AssetFile `json:"files" hcl:"files"`
}

// The sources of an asset's file.
const (
	AssetInline = ""     // the text stands in the manifest
	AssetLocal  = "file" // the client read it
	AssetURL    = "url"  // the server fetches it when it is applied
)

// AssetFile is one file. Its JSON form is a text where it is inline, else an object with _source.
type AssetFile struct {
	Source string `json:"_source,omitempty"`
	// Text is an inline file's content.
	Text string `json:"-"`
	// Content is a small local file in base64; Digest (sha256:<hex>) names a larger one that was uploaded.
	Content []byte `json:"content,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Filename is the client's path of the file, for people.
	Filename string `json:"filename,omitempty"`
	// Path is the file to read, relative to the manifest. The client reads it; the server never sees this field.
	Path string `json:"path,omitempty"`
	// URL is fetched by the server, each time the asset is applied: what is unchanged there isn't sent again.
	URL string `json:"url,omitempty"`
	// Timeout of the fetch, to its last byte. Default 30s, at most 90s.
	Timeout Duration `json:"timeout,omitempty"`
	// OnFailure is "stale" (default: the bytes fetched last are used, with a warning) or "error" (the apply is refused).
	OnFailure string `json:"on_failure,omitempty"`
}

// The values of AssetFile.OnFailure.
const (
	OnFailureStale = "stale"
	OnFailureError = "error"
)

// UnmarshalJSON implements json.Unmarshaler.
func (f *AssetFile) UnmarshalJSON(raw []byte) error {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '"' {
		*f = AssetFile{}
		return json.Unmarshal(raw, &f.Text)
	}
	type plain AssetFile
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*plain)(f)); err != nil {
		return fmt.Errorf("a file is a text, or an object with _source: %w", err)
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (f AssetFile) MarshalJSON() ([]byte, error) {
	if f.Source == AssetInline {
		return json.Marshal(f.Text)
	}
	type plain AssetFile
	return json.Marshal(plain(f))
}

// AssetDigests are the digests of the files a consumer of assets refers to, by AssetReference. They are part of what it
// asks for: a change of one replaces its containers.
func (o Object) AssetDigests() map[string]string { return o.digests(StampAssets) }

// FileDigests are the digests of an asset's own files, by key.
func (o Object) FileDigests() map[string]string { return o.digests(StampFiles) }

func (o Object) digests(stamp string) map[string]string {
	var out map[string]string
	if text := o.Metadata.Stamps[stamp]; text != "" && json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}

// AssetKey is the key in a table of digests that a reference stands for, seen from an object of a scope: a file of the
// object's own scope goes before one of no scope.
func AssetKey(r Reference, scope string, has func(key string) bool) (key string, ok bool) {
	asset, file := r.Asset(scope)
	key = AssetReference(asset.Scope, asset.Name, file)
	if !has(key) && len(r.Path) == 2 {
		key = AssetReference(Unscoped, asset.Name, file)
	}
	return key, has(key)
}

// AssetMount reports whether an entry of volumes mounts a file of an asset: its source is exactly one reference. Such
// a mount is read-only.
func AssetMount(entry string) bool {
	found := References(entry)
	return len(found) > 0 && found[0].Start == 0 && !found[0].Escaped && found[0].Space == SpaceAsset &&
		strings.HasPrefix(entry[found[0].End:], ":")
}

// AssetStandIn begins the paths that stand in for files of assets where their form is checked: the real ones are known
// on the nodes alone.
const AssetStandIn = "/asset/"

// StandIn is a text with stand-ins for the files of assets it refers to.
func StandIn(text string) string {
	var out strings.Builder
	at := 0
	for _, r := range References(text) {
		if r.Space == SpaceAsset && !r.Escaped {
			out.WriteString(text[at:r.Start] + AssetStandIn + strings.Join(r.Path, "."))
			at = r.End
		}
	}
	return out.String() + text[at:]
}

// HookDigests are the digests of the files its webhooks refer to. They reach no container, so a change replaces none.
func (o Object) HookDigests() map[string]string { return o.digests(StampHookAssets) }

// AssetDigest is the digest of a file's bytes.
func AssetDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// AssetReference returns the reference by which manifests name a file of an asset: ${asset.<scope>.<name>.<key>}.
func AssetReference(scope, name, key string) string { return scope + "." + name + "." + key }
