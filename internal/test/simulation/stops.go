package simulation

import (
	"context"
	"math/rand/v2"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// stops stops a workload for good: its pods stop, and stay stopped through restarts of the server and the engine, until
// people start them again.
func (w *World) stops() {
	random := rand.New(rand.NewPCG(w.opts.Seed, 5<<32))
	for _, object := range w.declaredObjects() {
		ref := object.Ref()
		if !ref.Kind.HasSlots() || object.Metadata.Deleting() || w.failed() || len(w.servingOf(ref)) == 0 {
			continue
		}
		w.storyf("-- %s is stopped for good", ref)
		w.askNow(ref, input{verb: "stop"}, func(ctx context.Context) error {
			_, err := w.client.Stop(ctx, client.TargetOf(ref), true)
			return err
		})
		w.staysStopped(ref)
		w.stop()
		w.start()
		restartEngine(w, random)
		w.staysStopped(ref)
		w.startAgain(ref)
		w.people.wait.Wait()
		break
	}
	w.becomes("what was stopped for good was started")
}

func (w *World) staysStopped(ref api.Ref) {
	w.pass(30 * time.Second)
	for _, pod := range w.servingOf(ref) {
		w.fail("%s runs, although %s was stopped for good", pod, ref)
	}
}
