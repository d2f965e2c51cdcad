// Package view is the in-memory picture of a store: everything reads from it, nothing reads the store.
//
// A View lists the store once, at one revision, and follows it with one watch from there. Whatever it holds is decoded
// and indexed; Snapshot hands out an immutable picture at no cost, and Watch serves any number of readers from memory. When
// the store forgets what the view has yet to read, the view lists again and tells its readers the difference, deletions
// included, as one commit.
//
// It decides nothing, writes nothing and knows no record types: Decode and Indexes come from internal/layout. What it
// hands out is shared and must not be modified.
//
//	v := view.New(s, view.Options{Decode: layout.Decode, Indexes: layout.Indexes})
//	go v.Run(ctx)
//	<-v.Synced()
//	for record := range v.Snapshot().Prefix("/desired/") { … }
package view
