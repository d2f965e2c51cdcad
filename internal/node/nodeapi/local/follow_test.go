package local_test

import (
	"errors"
	"fmt"
	"testing"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
	"tend.dev/tend/internal/store/records"
)

var errEnough = errors.New("enough")

// until collects frames up to one with a revision.
func until(t *testing.T, w *nodeapitest.World, epoch string, since, revision int64) (frames []node.Frame) {
	t.Helper()
	err := w.Service.Node(nodeapitest.Here).Follow(t.Context(), epoch, since, func(frame node.Frame) error {
		if frames = append(frames, frame); frame.Revision >= revision {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	return frames
}

func TestFollowGoesOnWhereItWas(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	w.Deploy("a", nodeapitest.Here)
	listing := until(t, w, "", 0, 1)
	seen, epoch := listing[len(listing)-1].Revision, listing[len(listing)-1].Epoch
	if !listing[0].Reset || seen != w.View.Revision() {
		t.Fatalf("%+v", listing)
	}
	w.Deploy("b", nodeapitest.Here)
	w.Deploy("other", nodeapitest.There)
	w.Deploy("c", nodeapitest.Here)
	var ids []string
	for _, frame := range until(t, w, epoch, seen, w.View.Revision()) {
		if frame.Reset {
			t.Error("it began again from nothing")
		}
		for _, entry := range frame.Tasks {
			ids = append(ids, entry.ID)
		}
	}
	if fmt.Sprint(ids) != "[b c]" {
		t.Errorf("%v, want what is new on this node", ids)
	}
	if first := until(t, w, epoch, w.View.Revision()+1000, w.View.Revision())[0]; !first.Reset {
		t.Error("a revision that this store never had begins with a listing")
	}
	if first := until(t, w, "of another life", seen, w.View.Revision())[0]; !first.Reset {
		t.Error("a revision of another life of the server, whose store may have been restored since, begins with a listing")
	}
}

// TestASlowReaderIsListedAgain: what it misses is not buffered for it, and in the end it has seen the newest state.
func TestASlowReaderIsListedAgain(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	task := w.Deploy("a", nodeapitest.Here)
	reason := func(text string) {
		task.Reason = text
		w.Commit(records.NewTxn("test").Put(records.TaskKey("a"), task))
	}
	listed, blocked, released := make(chan struct{}), make(chan struct{}), make(chan struct{})
	listings, followed := 0, 0
	ended := make(chan error, 1)
	go func() {
		ended <- w.Service.Node(nodeapitest.Here).Follow(t.Context(), "", 0, func(frame node.Frame) error {
			if frame.Reset {
				listings++
			}
			for _, entry := range frame.Tasks {
				if entry.Assignment.Task.Reason == "last" {
					return errEnough
				}
			}
			switch {
			case listings == 1 && frame.Revision > 0 && followed == 0:
				followed++
				close(listed)
			case listings == 1 && frame.Revision > 0 && followed == 1:
				followed++
				close(blocked)
				<-released
			}
			return nil
		})
	}()
	<-listed
	reason("first")
	<-blocked
	for range 3000 {
		reason("some")
	}
	reason("last")
	close(released)
	if err := <-ended; !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	if listings != 2 {
		t.Errorf("%d listings, want a second one in place of 3000 changes", listings)
	}
}
