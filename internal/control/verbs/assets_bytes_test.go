package verbs

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

func TestBytesBecomeDigestsAtTheBorder(t *testing.T) {
	w, s := newAssetWorld(t)
	content := base64.StdEncoding.EncodeToString([]byte("hello"))
	local := api.Object{Kind: api.KindAsset, Scope: "prod", Name: "conf",
		Spec: json.RawMessage(`{"files":{"a":{"_source":"file","content":"` + content + `","filename":"a.txt"}}}`)}
	w.mustApply(local)
	stored := w.object(local.Ref())
	if strings.Contains(string(stored.Spec), content) || stored.FileDigests()["a"] != digest("hello") ||
		!s.files[digest("hello")] {
		t.Errorf("stored as %s, stamped %v", stored.Spec, stored.FileDigests())
	}
	if again := w.mustApply(local); again.Changed() {
		t.Errorf("applied again: %v", again.Objects)
	}
	if again := w.mustApply(api.Object{Kind: api.KindAsset, Scope: "prod", Name: "conf",
		Spec: stored.Spec}); again.Changed() {
		t.Errorf("applied as it is shown: %v", again.Objects)
	}
}

func TestADigestNeedsItsBytes(t *testing.T) {
	w, s := newAssetWorld(t)
	large := api.Object{Kind: api.KindAsset, Scope: "prod", Name: "conf",
		Spec: json.RawMessage(`{"files":{"a":{"_source":"file","digest":"` + digest("big") + `"}}}`)}
	_, err := w.apply(ApplyOptions{}, large)
	if refused := wantReason(t, err, Invalid); refused.Errors[0].Field != "files.a" ||
		!strings.Contains(refused.Next, "PUT /v1/blobs/") {
		t.Errorf("refused with %v, next %s", refused.Errors, refused.Next)
	}
	if _, err := w.apply(ApplyOptions{DryRun: true}, large); err != nil {
		t.Errorf("a dry run comes before the upload: %v", err)
	}
	s.files[digest("big")] = true
	w.mustApply(large)
}

func TestURLsAreFetchedOutsideOfTheTurn(t *testing.T) {
	w, s := newAssetWorld(t)
	s.urls["http://x/a"], s.warnings["http://x/a"] = "one", "stale"
	s.fetching = func() { w.mustApply(deployment("prod", "meanwhile", `{"image":"web"}`)) }
	remote := api.Object{Kind: api.KindAsset, Scope: "prod", Name: "conf",
		Spec: json.RawMessage(`{"files":{"a":{"_source":"url","url":"http://x/a"},"b":"text"}}`)}
	result := w.mustApply(remote)
	if diff := cmp.Diff([]string{"files.a: stale"}, result.Objects[0].Warnings); diff != "" {
		t.Error(diff)
	}
	s.fetching = func() {}
	w.mustApply(deployment("prod", "web", `{"image":"web","volumes":["${asset.conf.a}:/a"]}`))
	s.urls["http://x/a"] = "two"
	result = w.mustApply(remote)
	if got := w.assets(ref("prod", "web"))["prod.conf.a"]; got != digest("two") || result.Objects[0].Generation != 1 ||
		result.Objects[0].Action != api.ActionConfigured {
		t.Errorf("stamped %s, result %+v", got, result.Objects[0])
	}
	delete(s.urls, "http://x/a")
	_, err := w.apply(ApplyOptions{}, remote)
	if refused := wantReason(t, err, Invalid); refused.Errors[0].Field != "files.a" ||
		!strings.Contains(refused.Errors[0].Detail, "no answer") {
		t.Errorf("refused with %v", refused.Errors)
	}
}
