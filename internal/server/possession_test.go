package server_test

import (
	"net/http"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/blob"
	"tend.dev/tend/internal/store/records"
)

// TestADigestIsNoKey: who knows the digest of a file of another scope learns nothing of it, and gets it by the bytes
// alone.
func TestADigestIsNoKey(t *testing.T) {
	blobs, err := blob.Open(blob.Options{Root: t.TempDir(), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *server.Options) { o.Blobs = blobs })
	secret, shared, absent := "of the bank", "for all", "nowhere"
	for name, content := range map[string]string{"bank": secret, api.Unscoped: shared} {
		digest := sha256Of([]byte(content))
		if response, body := w.raw("PUT", "/v1/blobs/"+digest, "", content); response.StatusCode != http.StatusNoContent {
			t.Fatal(body)
		}
		asset := api.Object{Kind: api.KindAsset, Scope: name, Name: "files", Spec: []byte(`{}`)}
		asset.Metadata.Stamps = map[string]string{api.StampFiles: `{"a":"` + digest + `"}`}
		w.put(records.ObjectKey(asset.Ref()), asset)
	}
	carol := w.person("carol", api.Deployer, time.Hour, "prod")
	bob, everywhere := w.person("bob", api.Deployer, time.Hour, "bank"), w.person("dora", api.Deployer, time.Hour)
	for _, step := range []struct {
		reason, token, method, content, body string
		want                                 int
	}{
		{"it is of another scope", carol, "HEAD", secret, "", 404},
		{"as if it weren't there", carol, "HEAD", absent, "", 404},
		{"it is of the caller's scope", bob, "HEAD", secret, "", 200},
		{"of all scopes", everywhere, "HEAD", secret, "", 200},
		{"an admin reads everything", token, "HEAD", secret, "", 200},
		{"files without a scope are for all", carol, "HEAD", shared, "", 200},
		{"other bytes prove nothing", carol, "PUT", secret, absent, 400},
		{"none do neither", carol, "PUT", secret, "", 400},
		{"it is still another's", carol, "HEAD", secret, "", 404},
		{"who sends the bytes has them", carol, "PUT", secret, secret, 204},
		{"and may use them", carol, "HEAD", secret, "", 200},
	} {
		if response, body := w.ask(step.token, step.method, "/v1/blobs/"+sha256Of([]byte(step.content)),
			step.body); response.StatusCode != step.want {
			t.Errorf("%s: %s %s answers %d, want %d: %s", step.reason, step.method, step.content, response.StatusCode,
				step.want, body)
		}
	}
}
