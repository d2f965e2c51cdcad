package simulation

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// applyFolder applies the manifests of a folder, and prunes the objects that the folder no longer holds.
func applyFolder(w *World, random *rand.Rand) {
	var objects []api.Object
	for _, ref := range cast {
		if chance(random, 3) && !slices.ContainsFunc(objects, func(o api.Object) bool { return o.Name == ref.Name }) {
			objects = append(objects, manifest(random, ref, false))
		}
	}
	if len(objects) == 0 {
		return
	}
	w.people.wait.Go(func() { w.applyFolderNow(objects) })
}

func (w *World) applyFolderNow(objects []api.Object) {
	if w.unmounted.Load() {
		return
	}
	w.count.verbs.Add(1)
	ctx, cancel := context.WithTimeout(context.Background(), short)
	defer cancel()
	asks := w.askOfAll(objects)
	names, asked := make([]string, len(objects)), time.Since(w.began).Seconds()
	for i, object := range objects {
		names[i] = applied(object).String() + " " + object.Ref().String()
	}
	result, err := w.client.Apply(ctx, api.ApplyRequest{Objects: objects, Set: "folder", Prune: true})
	answer := answerOf(err)
	for ref, noted := range asks {
		pruned := slices.Contains(result.Pruned, ref)
		applied := slices.ContainsFunc(objects, func(o api.Object) bool { return o.Ref() == ref })
		if answer == done && !pruned && !applied {
			noted.answered(refused) // the refused apply changed nothing
			continue
		}
		noted.answered(answer)
	}
	w.storyf("apply a folder: %s (asked at %.3fs): %s, %d pruned%s", strings.Join(names, ", "), asked, answer,
		len(result.Pruned), because(err))
}

// askOfAll adds to the history what applying a folder may do to each object: set it as in the folder, or delete it.
func (w *World) askOfAll(objects []api.Object) map[api.Ref]*noted {
	asks := map[api.Ref]*noted{}
	for _, ref := range cast {
		in := input{verb: "delete"}
		if at := slices.IndexFunc(objects, func(o api.Object) bool { return o.Ref() == ref }); at >= 0 {
			in = applied(objects[at])
		}
		w.people.promises.ask(ref)
		asks[ref] = w.people.history.called(ref, in)
	}
	return asks
}
