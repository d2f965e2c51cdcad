package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/platform/recovery"
)

// Assets keep the bytes of assets.
type Assets interface {
	// Keep stores bytes and returns their digest.
	Keep(content []byte) (digest string, err error)
	// Has reports whether the bytes of a digest are stored. Unless it is for a dry run, they are kept for a while.
	Has(digest string, dry bool) (bool, error)
	// Fetch returns the digest of what a URL returns, with a warning if an earlier content is used instead. A confined
	// one reaches only what core/source.Reachable allows. A dry run stores nothing.
	Fetch(ctx context.Context, file api.AssetFile, confined, dry bool) (digest, warning string, err error)
}

// fetchesAtOnce bounds how many URLs are asked at a time.
const fetchesAtOnce = 8

// material is the resolved content of an apply's assets. It is gathered before the verb's turn, so that other verbs
// don't wait for the network, and the bytes are on disk before any object that refers to them is stored.
type material struct {
	// fetched are the digests of URLs.
	fetched  map[string]string
	warnings map[api.Ref][]string
	// occupied are the objects whose pods can't start now, because another program writes to their volumes.
	occupied map[api.Ref]Occupied
	// images maps each object to the image that it names and a node has.
	images map[api.Ref]foundImage
}

// materialize stores the bytes that came with assets, puts their digests in their place, and fetches URLs. It copies
// the objects and doesn't change them.
func (s *Service) materialize(
	ctx context.Context, objects []api.Object, files *possession, dry bool,
) ([]api.Object, material, error) {
	m := material{fetched: map[string]string{}, warnings: map[api.Ref][]string{}}
	if !slices.ContainsFunc(objects, func(o api.Object) bool { return o.Kind == api.KindAsset }) {
		return objects, m, nil
	}
	if s.opts.Assets == nil {
		return nil, m, invalid("start the server with a folder for its files", "this server keeps no assets")
	}
	g := gathering{service: s, files: files, dry: dry, material: m, found: &faults{}}
	objects = slices.Clone(objects)
	for i, object := range objects {
		if object.Kind != api.KindAsset || len(checkObject(object, s.opts.Validate)) > 0 {
			continue // errors are reported once all objects are known
		}
		if err := g.object(ctx, &objects[i]); err != nil {
			return nil, m, err
		}
	}
	if err := g.fetch(ctx); err != nil {
		return nil, m, err
	}
	return objects, m, g.found.err(plural(g.found.count, "file") + " can't be had; nothing was stored")
}

// gathering is a materialize under way.
type gathering struct {
	service *Service
	files   *possession
	dry     bool
	material
	found *faults
	urls  []urlFile
}

// urlFile is a file to fetch.
type urlFile struct {
	owner api.Ref
	field string
	file  api.AssetFile
}

// object stores an asset's own bytes and collects its URLs.
func (g *gathering) object(ctx context.Context, object *api.Object) error {
	spec, err := api.DecodeSpec[api.AssetSpec](*object)
	if err != nil {
		return err
	}
	changed := false
	for _, key := range slices.Sorted(maps.Keys(spec.Files)) {
		file, field := spec.Files[key], "files."+key
		switch {
		case file.Source == api.AssetURL:
			g.urls = append(g.urls, urlFile{object.Ref(), field, file})
		case file.Source == api.AssetInline:
			_, err = g.keep([]byte(file.Text))
		case file.Content != nil:
			file.Digest, err = g.keep(file.Content)
			file.Content, changed = nil, true
			spec.Files[key] = file
		default:
			err = g.uploaded(ctx, object.Ref(), field, file)
		}
		if err != nil {
			return fmt.Errorf("keep the file %s of %s: %w", key, object.Ref(), err)
		}
	}
	if changed {
		object.Spec, err = json.Marshal(spec)
	}
	return err
}

func (g *gathering) keep(content []byte) (string, error) {
	if g.dry {
		return api.AssetDigest(content), nil
	}
	return g.service.opts.Assets.Keep(content)
}

// uploaded checks that the bytes of a digest are stored. In a dry run they may be missing, because it comes before the
// upload.
func (g *gathering) uploaded(ctx context.Context, owner api.Ref, field string, file api.AssetFile) error {
	there, err := g.files.hasFile(ctx, file.Digest, g.dry)
	if err == nil && !there && !g.dry {
		g.found.add(Invalid, owner, field, "upload the bytes first: PUT /v1/blobs/"+file.Digest+" (tend apply does)",
			"the bytes of %s are not on this server", file.Digest)
	}
	return err
}

// fetch fetches all URLs, several at a time.
func (g *gathering) fetch(ctx context.Context) error {
	type answer struct {
		digest, warning string
		err             error
	}
	answers := make([]answer, len(g.urls))
	turns := make(chan struct{}, fetchesAtOnce)
	var wait recovery.Group
	for i, url := range g.urls {
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			a := &answers[i]
			a.err = recovery.Call(func() (err error) {
				a.digest, a.warning, err = g.service.opts.Assets.Fetch(ctx, url.file, !g.files.rights.Trusted, g.dry)
				return err
			})
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i, url := range g.urls {
		a := answers[i]
		if a.err != nil {
			g.found.add(Invalid, url.owner, url.field, "check the URL, or put the bytes into a file", "%s", a.err)
			continue
		}
		g.fetched[url.file.URL] = a.digest
		if a.warning != "" {
			g.warnings[url.owner] = append(g.warnings[url.owner], url.field+": "+a.warning)
		}
	}
	return nil
}
