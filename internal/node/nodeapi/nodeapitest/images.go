package nodeapitest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

var web = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}

func images(t *testing.T, w *World, c nodeapi.Control) {
	changes := listen(t, c)
	request := api.ImageRequest{Owner: web, OwnerUID: "u1", Image: "web:1"}
	w.Commit(records.NewTxn("test").Put(records.ImageKey(web), request))
	changes.want(node.Change{Image: web})
	if got := c.Image(web); !got.Requested || got.Answered || got.Request != request {
		t.Errorf("%+v", got)
	}
	answer := api.ImageStatus{Owner: web, OwnerUID: "u1", Node: Here, Image: "web:1",
		State: api.ImagePresent, ImageID: "sha256:1"}
	if err := c.Report(t.Context(), node.Report{Images: []api.ImageStatus{answer}}); err != nil {
		t.Fatal(err)
	}
	if got := c.Image(web); !got.Answered || got.Status.ImageID != "sha256:1" {
		t.Errorf("%+v", got)
	}
	before := w.View.Snapshot().Revision()
	answer.UpdatedAt = answer.UpdatedAt.Add(time.Hour)
	if err := c.Report(t.Context(), node.Report{Images: []api.ImageStatus{answer}}); err != nil {
		t.Fatal(err)
	}
	if after := w.View.Snapshot().Revision(); after != before {
		t.Errorf("the same answer again is stored: %d commits", after-before)
	}
	pinned := api.Ref{Kind: web.Kind, Scope: web.Scope, Name: "pinned"}
	w.Commit(records.NewTxn("test").Put(records.ImageKey(pinned), api.ImageRequest{Owner: pinned, Image: exactImage}))
	answer = api.ImageStatus{Owner: pinned, Node: Here, Image: exactImage, State: api.ImagePresent, ImageID: "sha256:1",
		Digest: api.PinnedDigest(exactImage)}
	if err := c.Report(t.Context(), node.Report{Images: []api.ImageStatus{answer}}); err != nil {
		t.Fatal(err)
	}
	w.Commit(records.NewTxn("test").Delete(records.ImageKey(pinned)))
	if err := c.Report(t.Context(), node.Report{ForgetImages: []api.Ref{pinned}}); err != nil {
		t.Fatal(err)
	}
	changes = listen(t, c)
	w.Commit(records.NewTxn("test").Delete(records.ImageKey(web)))
	changes.want(node.Change{Image: web})
	if got := c.Images(); !slices.Equal(got, []api.Ref{web}) {
		t.Errorf("the answer to a request that is gone is still known: %v", got)
	}
	if err := c.Report(t.Context(), node.Report{ForgetImages: []api.Ref{web}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, changes, func() (any, bool) {
		got := c.Images()
		return got, len(got) == 0
	})
}

// oneResolves: of the nodes that answer, one is asked for an image; another takes over from one that fails or goes
// away, and none from one that has answered.
func oneResolves(t *testing.T, w *World, c nodeapi.Control) {
	request := api.ImageRequest{Owner: web, OwnerUID: "u1", Image: "web:1"}
	theirs := func(state api.ImageState) *records.Txn {
		status := api.ImageStatus{Owner: web, OwnerUID: "u1", Node: There, Image: "web:1", State: state}
		return records.NewTxn("test").Put(records.ImageStatusKey(There, web), status)
	}
	w.Commit(records.NewTxn("test").Put(records.AliveKey(There), There))
	w.Commit(theirs(api.ImageBuilding))
	w.Commit(records.NewTxn("test").Put(records.ImageKey(web), request))
	changes, asked := listen(t, c), false
	changes.settle(w)
	for _, step := range []struct {
		name string
		txn  *records.Txn
		want bool
	}{
		{"theirs failed", theirs(api.ImageFailed), true},
		{"they try again", theirs(api.ImagePulling), false},
		{"they go away", records.NewTxn("test").Delete(records.AliveKey(There)), true},
		{"they come back", records.NewTxn("test").Put(records.AliveKey(There), There), false},
		{"they have it", theirs(api.ImagePresent), false},
		{"they go away with it", records.NewTxn("test").Delete(records.AliveKey(There)), false},
	} {
		changes.forget()
		w.Commit(step.txn)
		changes.settle(w)
		if step.want != asked {
			changes.want(node.Change{Image: web})
			asked = step.want
		}
		if got := c.Image(web).Requested; got != step.want {
			t.Errorf("%s: asked %v", step.name, got)
		}
	}
}

// releaseImages: a node gets the image of its own tasks' releases from a node that has it, and of no other's.
func releaseImages(t *testing.T, w *World, c nodeapi.Control) {
	const id = "sha256:1"
	ours := api.Task{ID: "ours", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "1", Release: "v1", Node: Here,
		Desired: api.DesiredRunning}
	theirs := ours
	theirs.ID, theirs.Slot, theirs.Node = "theirs", "2", There
	release := api.Release{ID: "v1", Kind: web.Kind, Scope: web.Scope, Name: web.Name, ImageID: id}
	w.Commit(records.NewTxn("test").Put(records.ReleaseKey(web, "v1"), release).CreateTask(ours).CreateTask(theirs))
	if _, err := c.ReleaseImage(t.Context(), ours, node.Part{}); !errors.Is(err, node.ErrNotConnected) ||
		errors.Is(err, node.ErrNoImage) {
		t.Errorf("the node that may have it is away: %v", err)
	}
	w.Images[There+"/"+id] = "layers"
	content, err := c.ReleaseImage(t.Context(), ours, node.Part{})
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if from, err := nodeapi.ReceiveFrom(content, node.Part{}); from != 0 || err != nil {
		t.Errorf("it begins at %d: %v", from, err)
	}
	if got, err := io.ReadAll(content); string(got) != "layers" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	for part, want := range map[string]string{"lay": "ers", "layers": "", "xxx": "layers", "layers and more": "layers"} {
		sum := sha256.Sum256([]byte(part))
		has := node.Part{Size: int64(len(part)), Sum: hex.EncodeToString(sum[:])}
		rest, err := c.ReleaseImage(t.Context(), ours, has)
		if err != nil {
			t.Fatal(err)
		}
		from, err := nodeapi.ReceiveFrom(rest, has)
		if got, _ := io.ReadAll(rest); string(got) != want || err != nil || from != int64(len("layers")-len(want)) {
			t.Errorf("after %q: %q from %d: %v", part, got, from, err)
		}
		_ = rest.Close()
	}
	for name, task := range map[string]api.Task{"another node's task": theirs, "a task that isn't there": {ID: "none"}} {
		if _, err := c.ReleaseImage(t.Context(), task, node.Part{}); !errors.Is(err, node.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	noReleaseImages(t, w, c, release, ours, theirs)
}

// noReleaseImages: releases whose image a node doesn't get, as no node may have it, or not the one that it could use.
func noReleaseImages(t *testing.T, w *World, c nodeapi.Control, release api.Release, ours, theirs api.Task) {
	w.Deploy("unpinned", Here)
	if _, err := c.ReleaseImage(t.Context(), api.Task{ID: "unpinned"}, node.Part{}); !errors.Is(err, node.ErrNoImage) {
		t.Errorf("a release without an image's id: %v", err)
	}
	w.Commit(records.NewTxn("test").Delete(records.TaskKey(theirs.ID)))
	if _, err := c.ReleaseImage(t.Context(), ours, node.Part{}); !errors.Is(err, node.ErrNoImage) {
		t.Errorf("no node is known to have it: %v", err)
	}
	w.Commit(records.NewTxn("test").Put(records.AliveKey(There), There))
	stayed, err := c.ReleaseImage(t.Context(), ours, node.Part{})
	if err != nil {
		t.Fatalf("a node that nothing is recorded of has it: %v", err)
	}
	defer stayed.Close()
	release.ImageDigest, release.ImageArch = "sha256:2", "amd64"
	w.Commit(records.NewTxn("test").Put(records.ReleaseKey(web, "v1"), release).
		Put(records.NodeKey(Here), api.NodeStatus{ID: Here, Arch: "arm64"}))
	if _, err := c.ReleaseImage(t.Context(), ours, node.Part{}); !errors.Is(err, node.ErrNoImage) {
		t.Errorf("an image of a registry that is another one on this architecture: %v", err)
	}
}
