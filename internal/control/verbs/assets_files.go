package verbs

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/reference"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// files are the digests of all files of assets, by api.AssetReference.
type files map[string]string

func (f files) add(object api.Object) {
	for key, digest := range object.FileDigests() {
		f[api.AssetReference(object.Scope, object.Name, key)] = digest
	}
}

func (f files) has(key string) bool { return f[key] != "" }

// filesIn returns the files of the stored assets, without those of some objects.
func filesIn(snap records.Snapshot, without map[api.Ref]bool) files {
	out := files{}
	for object := range snap.Objects(api.KindAsset) {
		if !without[object.Value.Ref()] && !object.Value.Metadata.Deleting() {
			out.add(*object.Value)
		}
	}
	return out
}

// use is one place where a consumer refers to a file.
type use struct {
	field     string
	reference api.Reference
}

// hook reports whether the file is used by a webhook and by no container.
func (u use) hook() bool {
	return strings.HasPrefix(u.field, "on_deploy.") || strings.HasPrefix(u.field, "on_probe.")
}

// owner returns the asset and the key in it that a use means.
func (u use) owner(scope string, there files) (asset api.Ref, file string) {
	asset, file = u.reference.Asset(scope)
	if key, _ := api.AssetKey(u.reference, scope, there.has); key != api.AssetReference(asset.Scope, asset.Name, file) {
		asset.Scope = api.Unscoped
	}
	return asset, file
}

// usesOf returns the places where an object refers to files of assets: in its texts, and in depends_on.assets.
func usesOf(object api.Object) []use {
	if !object.Kind.HasContainers() || !bytes.Contains(object.Spec, []byte("asset")) {
		return nil
	}
	var spec any
	if json.Unmarshal(object.Spec, &spec) != nil {
		return nil // validation reports it
	}
	var out []use
	reference.Walk(spec, func(path, text string) {
		if strings.HasPrefix(path, "depends_on.assets[") {
			text = "${" + api.SpaceAsset + "." + text + "}"
		}
		for _, r := range reference.Find(text) {
			if r.Space == api.SpaceAsset && r.Check() == nil {
				out = append(out, use{field: path, reference: r})
			}
		}
	})
	return out
}

// stampsOf returns what a consumer is stamped with: the digests of the files it uses, of its containers and of its
// webhooks. A file that isn't there counts as it was stamped before, if it was; else it is missing.
func stampsOf(
	object api.Object, there files, before func(key string) string,
) (stamps map[string]string, missing []use) {
	digests := map[string]files{api.StampAssets: {}, api.StampHookAssets: {}}
	for _, u := range usesOf(object) {
		stamp := api.StampAssets
		if u.hook() {
			stamp = api.StampHookAssets
		}
		key, ok := api.AssetKey(u.reference, object.Scope, there.has)
		if ok {
			digests[stamp][key] = there[key]
			continue
		}
		key, ok = api.AssetKey(u.reference, object.Scope, func(key string) bool { return before(key) != "" })
		if ok {
			digests[stamp][key] = before(key)
			continue
		}
		missing = append(missing, u)
	}
	stamps = map[string]string{}
	for stamp, files := range digests {
		if len(files) > 0 {
			stamps[stamp] = stampText(files)
		}
	}
	return stamps, missing
}

// stampText returns a table of digests as it lies in a stamp; its keys are sorted.
func stampText(digests map[string]string) string {
	text, err := json.Marshal(digests)
	if err != nil {
		panic("verbs: a table of texts is always encoded: " + err.Error())
	}
	return string(text)
}

// consumers returns the stored objects that may use assets, but for those that are going.
func consumers(snap records.Snapshot) iter.Seq[records.Read[api.Object]] {
	return func(yield func(records.Read[api.Object]) bool) {
		for _, kind := range api.KindsThat(api.Kind.HasContainers) {
			for object := range snap.Objects(kind) {
				if !object.Value.Metadata.Deleting() && !yield(object) {
					return
				}
			}
		}
	}
}

// lost returns the uses of a consumer whose file is there before and not after.
func lost(object api.Object, before, after files) []use {
	var out []use
	for _, u := range usesOf(object) {
		_, was := api.AssetKey(u.reference, object.Scope, before.has)
		_, is := api.AssetKey(u.reference, object.Scope, after.has)
		if was && !is {
			out = append(out, u)
		}
	}
	return out
}

// checkUnused refuses the deletion of an asset while a consumer uses a file of it.
func checkUnused(snap records.Snapshot, asset api.Ref, rights source.Rights) error {
	if asset.Kind != api.KindAsset {
		return nil
	}
	before, after := filesIn(snap, nil), filesIn(snap, map[api.Ref]bool{asset: true})
	found := faultsOf(nil, rights)
	for object := range consumers(snap) {
		for _, u := range lost(*object.Value, before, after) {
			_, file := u.owner(object.Value.Scope, before)
			found.add(InUse, asset, "files."+file, nextInUse, "%s uses it (%s)", found.named(object.Value.Ref()), u.field)
		}
	}
	return found.err(asset.String() + " is in use; nothing was deleted")
}

const nextInUse = "delete or change what uses it first"
