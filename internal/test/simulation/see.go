package simulation

import (
	"context"
	"sync/atomic"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// see reads an object from any server, concurrently with everything else. The result goes into the history of the
// object, unless the server marks it as stale.
func (w *World) see(ref api.Ref) {
	w.people.wait.Go(func() {
		w.count.verbs.Add(1)
		ctx, cancel := context.WithTimeout(context.Background(), short)
		defer cancel()
		var stale atomic.Bool
		c, err := client.New(client.Options{Server: "http://simulation", Dial: w.dialAny,
			OnStale: func(string) { stale.Store(true) }})
		if err != nil {
			panic(err) // its options are constant
		}
		defer c.Close()
		noted := w.people.history.called(ref, input{verb: "see"})
		object, err := c.Object(ctx, ref)
		state := declared{}
		switch {
		case stale.Load() || err != nil && !client.IsNotFound(err):
			return
		case err == nil:
			spec, replicas := digestSpec(object)
			state = declared{there: true, deleting: object.Metadata.Deleting(), spec: spec, replicas: replicas}
		}
		w.storyf("%s shows %+v", ref, state)
		noted.saw(state)
	})
}
