package verbs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// nothingBefore returns no earlier digest: every file that an applied consumer names must exist.
func nothingBefore(string) string { return "" }

// stampAssets stamps the digests of files on the assets of an apply, on its consumers, and on stored consumers of a
// changed file. It refuses files that don't exist.
func (d *applyDecision) stampAssets(
	snap records.Snapshot, m material, going []records.Read[api.Object], found *faults,
) {
	without := map[api.Ref]bool{}
	for i := range d.placed {
		without[d.placed[i].next.Ref()] = true
		d.placed[i].stampFiles(m, found)
	}
	for _, object := range going {
		without[object.Value.Ref()] = true
	}
	if !d.touchesAssets(going) {
		return
	}
	there := filesIn(snap, without)
	for _, p := range d.placed {
		if p.next.Kind == api.KindAsset {
			there.add(p.next)
		}
	}
	for i := range d.placed {
		d.placed[i].stampUses(there, found)
	}
	d.restamp(snap, there, without, found)
}

// touchesAssets reports whether an object that the apply writes or deletes is an asset or may use one.
func (d *applyDecision) touchesAssets(going []records.Read[api.Object]) bool {
	return slices.ContainsFunc(d.placed, func(p placed) bool {
		stamps := p.next.Metadata.Stamps
		return p.next.Kind == api.KindAsset || stamps[api.StampAssets]+stamps[api.StampHookAssets] != "" ||
			len(usesOf(p.next)) > 0
	}) ||
		slices.ContainsFunc(going, func(o records.Read[api.Object]) bool { return o.Value.Kind == api.KindAsset })
}

// stampFiles stamps the digests of an asset's own files on it.
func (p *placed) stampFiles(m material, found *faults) {
	if p.next.Kind != api.KindAsset {
		return
	}
	spec, err := api.DecodeSpec[api.AssetSpec](p.next)
	if err != nil {
		return // validation reports it
	}
	before, digests := map[string]string{}, map[string]string{}
	if p.stored.Exists() {
		before = p.stored.Value.FileDigests()
	}
	for _, key := range slices.Sorted(maps.Keys(spec.Files)) {
		file := spec.Files[key]
		switch file.Source {
		case api.AssetInline:
			digests[key] = api.AssetDigest([]byte(file.Text))
		case api.AssetURL:
			digests[key] = m.fetched[file.URL]
			if digests[key] == "" {
				digests[key] = before[key] // set by another manager, unchanged
			}
		default:
			digests[key] = file.Digest
		}
		if digests[key] == "" {
			found.add(Invalid, p.next.Ref(), "files."+key, "apply the whole asset", "its bytes are not known")
		}
	}
	p.changed("files", before, digests)
	p.stamp(map[string]string{api.StampFiles: stampText(digests)})
	p.result.Warnings = m.warnings[p.next.Ref()]
}

// stampUses stamps the digests of the files a consumer uses on it.
func (p *placed) stampUses(there files, found *faults) {
	if !p.next.Kind.HasContainers() {
		return
	}
	stamps, missing := stampsOf(p.next, there, nothingBefore)
	for _, u := range missing {
		found.add(Invalid, p.next.Ref(), u.field, "declare the asset, in the same apply or before, or correct the reference",
			"%s: there is no such file", u.reference.Text)
	}
	before := p.next.AssetDigests()
	p.stamp(stamps)
	if after := p.next.AssetDigests(); p.stored.Exists() && !maps.Equal(before, after) {
		p.changed("assets", before, after)
		unpin(p.next.Metadata.Stamps) // it asks for something new
	}
}

// stamp replaces the stamps about assets.
func (p *placed) stamp(with map[string]string) {
	stamps := p.next.Metadata.CopyStamps()
	for _, name := range []string{api.StampAssets, api.StampHookAssets, api.StampFiles} {
		delete(stamps, name)
	}
	maps.Copy(stamps, with)
	if len(stamps) == 0 {
		stamps = nil
	}
	p.next.Metadata.Stamps = stamps
}

// changed reports changed digests, so that the user sees why an object with unchanged fields rolls out.
func (p *placed) changed(table string, before, after map[string]string) {
	if !p.stored.Exists() {
		return
	}
	listed := map[string]bool{}
	for _, change := range p.result.Changes {
		listed[change.Path] = true
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		path := fmt.Sprintf("%s[%q]", table, key)
		if before[key] != after[key] && !listed[table+"."+key] && !listed[table+"."+key+".digest"] {
			p.result.Changes = append(p.result.Changes,
				api.FieldChange{Path: path, Old: text(orNil(before[key])), New: text(after[key])})
		}
	}
}

func orNil(digest string) any {
	if digest == "" {
		return nil
	}
	return digest
}

// restamp adds the stored consumers of a file whose bytes change. It refuses a change by which a consumer would lose a
// file.
func (d *applyDecision) restamp(snap records.Snapshot, there files, without map[api.Ref]bool, found *faults) {
	before := filesIn(snap, nil)
	for object := range consumers(snap) {
		if without[object.Value.Ref()] {
			continue
		}
		for _, u := range lost(*object.Value, before, there) {
			asset, file := u.owner(object.Value.Scope, before)
			found.add(InUse, asset, "files."+file, nextInUse, "%s uses it (%s)", found.named(object.Value.Ref()), u.field)
		}
		p := placed{stored: object, next: *object.Value, result: api.ObjectResult{Ref: object.Value.Ref(),
			Generation: object.Value.Metadata.Generation, Revision: object.Modified}}
		p.stampAgain(there)
		if !sameObject(*object.Value, p.next) {
			d.placed = append(d.placed, p)
		}
	}
}

// stampAgain stamps a stored consumer with the current files; a missing file keeps its earlier digest.
func (p *placed) stampAgain(there files) {
	before, hooks := p.next.AssetDigests(), p.next.HookDigests()
	stamps, _ := stampsOf(p.next, there, func(key string) string { return cmp.Or(before[key], hooks[key]) })
	p.stamp(stamps)
	if after := p.next.AssetDigests(); !maps.Equal(before, after) {
		p.changed("assets", before, after)
		unpin(p.next.Metadata.Stamps)
	}
}
