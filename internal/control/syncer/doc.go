// Package syncer fetches the sources of syncs — folders, HTTP, git repositories — and applies their manifests through
// the verbs, all of a revision or nothing.
//
// What a source holds is copied into a folder of Tend's own (ROOT/syncs/<uid>/tree) before anything reads it, and that
// is refused where it is too large, too many files, or leads out of itself by a link. So nothing of a source is read,
// run or written elsewhere, and exactly what was polled is applied. A source that can't be read, is empty or is gone is
// an error and prunes nothing.
//
// It decides nothing about when to poll or what a source may contain: internal/kinds/syncs and internal/core/source
// do.
package syncer
