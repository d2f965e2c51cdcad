package nodeapitest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

// config stores a config value, encrypted.
func (w *World) config(key, value string) {
	w.t.Helper()
	encrypted, _ := sealer{}.Encrypt([]byte(value))
	w.Commit(records.NewTxn("test").Put(key, encrypted))
}

// buildSecrets: the node that builds an image gets the values that the build names, and no others.
func buildSecrets(t *testing.T, w *World, c nodeapi.Control) {
	if got, err := c.BuildSecrets(t.Context(), web); !errors.Is(err, node.ErrForbidden) || got != nil {
		t.Errorf("nothing is to be built: %v %v", got, err)
	}
	build := &api.ImageBuild{ID: "abc", Build: api.Build{Secrets: []string{"TOKEN", "SHARED"}}}
	w.Commit(records.NewTxn("test").Put(records.ImageKey(web),
		api.ImageRequest{Owner: web, Image: "prod-web:abc", Build: build}))
	w.config(records.ConfigAppPrefix(web.Scope, web.Name)+"TOKEN", "t0ken")
	w.config(records.ConfigAppPrefix(web.Scope, web.Name)+"OTHER", "no matter")
	if got, err := c.BuildSecrets(t.Context(), web); !errors.Is(err, node.ErrNoConfig) ||
		!strings.Contains(err.Error(), "SHARED") || len(got) > 0 {
		t.Errorf("a key without a value: %v %v", got, err)
	}
	w.config(records.ConfigScopePrefix(web.Scope)+"TOKEN", "of the scope")
	w.config(records.ConfigScopePrefix(web.Scope)+"SHARED", "sh4red")
	got, err := c.BuildSecrets(t.Context(), web)
	if diff := cmp.Diff(map[string]string{"TOKEN": "t0ken", "SHARED": "sh4red"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// madeAgain: a task that is left of a deleted object has nothing to do with an object of the same name that is made
// later, whose first release has the same number.
func madeAgain(t *testing.T, w *World, c nodeapi.Control) {
	task := w.Deploy("a", Here)
	object := api.Object{Kind: task.Kind, Scope: task.Scope, Name: task.Name,
		Spec: []byte(`{"image":"a.example/app:1"}`), Metadata: api.Metadata{UID: "first"}}
	task.OwnerUID, task.Leftover, task.Desired = "first", true, api.DesiredRemoved
	release := *w.snapshot().ReleaseOf(task).Value
	release.ImageID = "sha256:content"
	w.Images[There+"/"+release.ImageID] = "layers"
	w.Commit(records.NewTxn("test").Put(records.TaskKey(task.ID), task).Put(records.ObjectKey(object.Ref()), object).
		Put(records.ReleaseKey(task.Owner(), task.Release), release).Put(records.AliveKey(There), "now"))
	w.Object(api.KindRegistry, "a", api.RegistrySpec{URL: "a.example", Username: "u", Token: sealed("t")})
	reads := func() (out [4]bool) {
		got, err := c.Release(t.Context(), task)
		if out[0] = err == nil && got.Env["SECRET"] == "of a"; !out[0] && !errors.Is(err, node.ErrNoRelease) {
			t.Errorf("the release: %v", err)
		}
		file, err := c.Blob(t.Context(), "sha256:a")
		if out[1] = err == nil; out[1] {
			_ = file.Close()
		} else if !errors.Is(err, node.ErrForbidden) {
			t.Errorf("the file: %v", err)
		}
		image, err := c.ReleaseImage(t.Context(), task, node.Part{})
		if out[2] = err == nil; out[2] {
			_ = image.Close()
		} else if !errors.Is(err, node.ErrNoImage) {
			t.Errorf("the image: %v", err)
		}
		account, known, err := c.Registry(t.Context(), "a.example")
		if out[3] = known && account.Token == "t"; err != nil && !errors.Is(err, node.ErrForbidden) {
			t.Errorf("the account: %v", err)
		}
		return out
	}
	if got := reads(); got != [4]bool{true, true, true, true} {
		t.Errorf("while the object is there, it reads %v", got)
	}
	object.Metadata.UID = "second"
	w.Commit(records.NewTxn("test").Put(records.ObjectKey(object.Ref()), object))
	if got := reads(); got != [4]bool{} {
		t.Errorf("of the object made again, it reads %v", got)
	}
}
