package syncer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/input/manifest"
	"tend.dev/tend/internal/store/records"
)

// Apply applies what the last poll fetched for a sync, or nothing of it: not if the sync is gone, or was declared
// otherwise.
func (s *Syncer) Apply(ctx context.Context, through records.Committer, object api.Object) source.Applied {
	f, err := s.enter(object.Metadata.UID)
	if err != nil {
		return source.Applied{Fault: refused(nil, f, err)}
	}
	defer s.leave(f)
	if err := f.tip.take(ctx); err != nil {
		return source.Applied{Fault: refused(nil, f, err)}
	}
	defer f.tip.give()
	applied := source.Applied{Revision: f.revision, At: s.Now()}
	spec, err := api.DecodeSpec[api.SyncSpec](object)
	if err == nil && (f.revision == "" || f.spec != string(object.Spec)) {
		err = errors.New("nothing was fetched for it yet")
	}
	if err != nil {
		applied.Fault = refused(nil, f, err)
		return applied
	}
	loaded, err := load(ctx, f, spec, s.Stored)
	if err == nil {
		err = s.upload(loaded.Uploads)
	}
	var result api.ApplyResult
	if err == nil {
		manager := api.SyncManager(object.Name)
		result, err = s.Options.Apply(verbs.WithSent(ctx, sentWith(loaded.Uploads)), loaded.Objects, verbs.ApplyOptions{
			Prune: spec.Prune, Set: api.SyncSet(object), Sync: &object, SyncRevision: f.revision,
			FieldManager: verbs.FieldManager{Manager: manager, Actor: manager, Through: through},
		})
	}
	if err != nil {
		applied.Fault = refused(&loaded, f, err)
		return applied
	}
	applied.Objects = make(map[api.Ref]int64, len(result.Objects))
	for _, one := range result.Objects {
		applied.Objects[one.Ref] = one.Revision
	}
	if result.Synced != nil {
		done := source.AppliedBy(*result.Synced, result.Revision)
		done.Objects = applied.Objects
		return done
	}
	return applied
}

// loadTime bounds the reading of a source's manifests.
const loadTime = 30 * time.Second

var errLoadTime = fmt.Errorf("its manifests take longer to read than %s", loadTime)

// load reads the manifests of a tree and refuses what a sync may not apply, given what is stored. Variables have no
// values: the source must not see those of the server.
func load(
	ctx context.Context, f *fetched, spec api.SyncSpec, stored func(api.Ref) *api.Object,
) (manifest.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loadTime, errLoadTime)
	defer cancel()
	loaded, err := manifest.Load(manifest.Options{
		Context: ctx,
		Files:   []string{filepath.Join(f.tree(), filepath.FromSlash(spec.Path))}, Within: f.tree(),
		MaxBytes: maxSource,
		Lookup:   func(string) (string, bool) { return "", false },
	})
	if err == nil && len(loaded.Objects) == 0 {
		err = manifest.ErrNoManifest // its files declare nothing
	}
	if err != nil {
		return loaded, err
	}
	rights := source.RightsOf(spec)
	for _, object := range loaded.Objects {
		rights.Stored = stored(object.Ref())
		if fault := rights.Refuse(object); fault != nil {
			fault.Message = f.shown(loaded.Origin[object.Ref()].String()) + ": " + fault.Message
			return loaded, fault
		}
	}
	return loaded, nil
}

// sentWith returns of which digests the source has the bytes.
func sentWith(uploads []manifest.Upload) func(digest string) bool {
	return func(digest string) bool {
		return slices.ContainsFunc(uploads, func(u manifest.Upload) bool { return u.Digest == digest })
	}
}

// upload stores the large files of assets.
func (s *Syncer) upload(uploads []manifest.Upload) error {
	for _, u := range uploads {
		if s.PutBlob == nil {
			return errors.New("this server keeps no files")
		}
		file, err := os.Open(u.Path)
		if err != nil {
			return err
		}
		if err = errors.Join(s.PutBlob(file, u.Digest), file.Close()); err != nil {
			return fmt.Errorf("keep %s: %w", filepath.Base(u.Path), err)
		}
	}
	return nil
}

// mostFaults bounds what a condition lists.
const mostFaults = 5

const nextManifest = "correct it in the source; Tend applies the next revision by itself"

// refused returns the fault of an apply. An error in a file has its position but not the line itself, since more
// people can read the condition than the source.
func refused(loaded *manifest.Result, f *fetched, err error) *source.Error {
	var fault *source.Error
	var wrong *manifest.Error
	var verb *verbs.Error
	switch {
	case errors.As(err, &fault):
		return fault
	case errors.As(err, &wrong):
		return source.NewFault(api.ReasonInvalidManifests, nextManifest, "%s", f.places(wrong))
	case errors.Is(err, errLoadTime):
		return source.NewFault(api.ReasonInvalidManifests,
			"name a folder with fewer manifests in path, or split them among several syncs", "%s", err)
	case errors.Is(err, manifest.ErrNoManifest):
		return source.NewFault(api.ReasonInvalidManifests,
			"put a manifest into the source; to delete what it had: tend sync remove --prune",
			"the source has no manifest, and nothing was pruned")
	case errors.As(err, &verb):
		detail := verb.Detail
		if len(verb.Errors) > 0 && loaded != nil {
			detail += "\n" + f.places(loaded.Explain(verb.Errors))
		}
		switch verb.Reason {
		case verbs.FieldOwned:
			return source.NewFault(api.ReasonFieldOwned, verb.Next, "%s", detail)
		case verbs.Invalid:
			return source.NewFault(api.ReasonInvalidManifests, nextManifest, "%s", detail)
		}
		return source.NewFault(api.ReasonApplyRefused, verb.Next, "%s", detail)
	}
	return source.NewFault(api.ReasonApplyRefused, "see the server's log; Tend applies it again with the next poll",
		"%s",
		f.shown(err.Error()))
}

// places returns faults with their places in the source, one a line.
func (f *fetched) places(wrong *manifest.Error) string {
	var lines []string
	for i, d := range wrong.List {
		if i == mostFaults {
			break
		}
		d.Snippet = ""
		lines = append(lines, f.shown(strings.ReplaceAll(d.String(), "\n  ", "; ")))
	}
	if more := len(wrong.List) + wrong.More - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// shown returns a text with the paths of the source instead of those of its copy.
func (f *fetched) shown(text string) string {
	if f == nil {
		return text
	}
	return strings.ReplaceAll(text, f.tree()+string(filepath.Separator), "")
}
