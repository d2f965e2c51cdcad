// Package watcher polls what can't be watched and hands on what changed: a source of keys for the queue.
//
//	w := watcher.New(watcher.Options[File]{Name: "sync", List: list, Facts: facts, Clone: clone})
//	w.Handle("enqueue", func(context.Context, watch.Change[File]) error { enqueue(key); return nil })
//	err := w.Run(ctx)
//
// A Watcher lists, compares with the listing before (internal/core/watch decides what changed), calls its handlers one
// after the other, and waits. A handler that fails or panics stops neither the others nor the loop. A listing that
// fails keeps the cache: a source that can't be read for a while has lost nothing. A change says when to reconcile,
// never what happened: after a restart every object is CREATED, and what went meanwhile is not DELETED.
//
// It doesn't know what it lists, and stores nothing.
package watcher
