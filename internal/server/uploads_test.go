package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/blob"
	"tend.dev/tend/internal/store/records"
)

// TestUploadsThatNothingRefersTo: a token may have so many unreferenced bytes, until they are referenced or deleted.
// Other tokens have limits of their own, and an admin has none.
func TestUploadsThatNothingRefersTo(t *testing.T) {
	blobs, err := blob.Open(blob.Options{Root: t.TempDir(), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *server.Options) { o.Blobs, o.MaxBlob, o.MaxUploads = blobs, 16<<10, 32<<10 })
	ann, bob := w.person("ann", api.Deployer, time.Hour), w.person("bob", api.Deployer, time.Hour)
	put := func(token, text string, want int) string {
		t.Helper()
		digest := sha256Of([]byte(text))
		response, body := w.ask(token, "PUT", "/v1/blobs/"+digest, text)
		if response.StatusCode != want {
			t.Fatalf("%.10s: %s\n%s", text, response.Status, body)
		}
		if want == http.StatusRequestEntityTooLarge &&
			(!strings.Contains(body, "nothing refers to") || !strings.Contains(body, "apply what refers to them")) {
			t.Errorf("it says %s", body)
		}
		return digest
	}
	large := func(letter string) string { return strings.Repeat(letter, 11<<10) }
	first := put(ann, large("a"), 204)
	put(ann, large("a"), 204) // the file exists already
	second := put(ann, large("b"), 204)
	put(ann, large("c"), 413)
	put(ann, "", 413)
	put(bob, large("d"), 204)
	for range 3 { // a refused file doesn't count
		if response, body := w.ask(bob, "PUT", "/v1/blobs/"+sha256Of(nil), large("f")); response.StatusCode != 400 {
			t.Errorf("other bytes: %s", body)
		}
	}
	put(bob, large("e"), 204)
	for _, letter := range []string{"g", "h", "i", "j"} {
		put(token, large(letter), 204)
	}
	// the first is referenced now, and the second is deleted
	conf := api.Object{Kind: api.KindAsset, Scope: "prod", Name: "conf", Spec: []byte(`{}`)}
	conf.Metadata.Stamps = map[string]string{api.StampFiles: `{"a":"` + first + `"}`}
	w.put(records.ObjectKey(conf.Ref()), conf)
	if err := blobs.Remove(second, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; { // the review runs at most once a second
		response, body := w.ask(ann, "PUT", "/v1/blobs/"+sha256Of([]byte(large("c"))), large("c"))
		if response.StatusCode == 204 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(body)
		}
	}
	put(ann, large("k"), 204)
}
