package agent_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// TestFindImage: a server that asks for an image before it stores the request hears what an answer to the request would
// say, and brings no image here.
func TestFindImage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.engine.PublishImage("far:1")
		l.start()
		defer l.close()
		built := l.builtFor(api.Ref{Kind: api.KindJob, Scope: "nats", Name: "streaming"}, "abababababab")
		l.request(image, "")
		said := l.answer()
		got, err := l.agent.FindImage(t.Context(), "shop", image)
		if err != nil || got.ID != said.ImageID || got.Digest != said.Digest || got.Arch != said.Arch ||
			got.Runtime != said.Runtime {
			t.Errorf("it says %+v, %v, and answers %+v", got, err, said)
		}
		for name, reason := range map[string]string{"far:1": "the registry has it", built: "it is a build of another scope"} {
			if got, err := l.agent.FindImage(t.Context(), "shop", name); !errors.Is(err, runtime.ErrNotFound) {
				t.Errorf("%s: %+v, %v", reason, got, err)
			}
		}
		if got, err := l.agent.FindImage(t.Context(), "nats", built); err != nil || got.ID != built {
			t.Errorf("its own scope's: %+v, %v", got, err)
		}
		if pulls := l.engine.Calls()["pull"]; pulls > 0 {
			t.Errorf("%d pulls", pulls)
		}
		moved := l.engine.Retag(image)
		if got, err := l.agent.FindImage(t.Context(), "shop", image); err != nil || got.ID != moved {
			t.Errorf("its tag moved to %s: %+v, %v", moved, got, err)
		}
		l.engine.StopEngine()
		l.settle()
		if got, err := l.agent.FindImage(t.Context(), "shop", image); !errors.Is(err, runtime.ErrUnavailable) {
			t.Errorf("without an engine: %+v, %v", got, err)
		}
	})
}
