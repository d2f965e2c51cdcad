// Package view is an in-memory view of a store: everything reads from it, nothing reads the store.
//
// A View lists the store once, at one revision, and follows it with one watch from there. Everything it holds is
// decoded and indexed; Snapshot returns an immutable snapshot at no cost, and Watch serves any number of readers from
// memory. When the store deletes history that the view has yet to read, the view lists again and reports the difference
// to its readers, deletions included, as one commit.
//
// It makes no decisions, writes nothing and knows no record types: Decode and Indexes come from internal/store/records.
// What it returns is shared and must not be modified.
//
//	v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes})
//	go v.Run(ctx)
//	<-v.Synced()
//	for record := range v.Snapshot().Prefix("/desired/") { … }
package view
