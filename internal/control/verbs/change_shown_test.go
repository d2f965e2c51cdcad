package verbs

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestADiffShowsNoSecret: changes are named, and the answer contains none of the texts that must not be in a log.
func TestADiffShowsNoSecret(t *testing.T) {
	w, _ := newAssetWorld(t)
	asset := func(text string) api.Object {
		spec, err := json.Marshal(map[string]any{"files": map[string]any{"conf": "user x\npass " + text + "\n",
			"local": map[string]string{"_source": "file", "filename": "a.conf",
				"content": base64.StdEncoding.EncodeToString([]byte("local " + text))}}})
		if err != nil {
			t.Fatal(err)
		}
		return api.Object{Kind: api.KindAsset, Scope: "prod", Name: "conf", Spec: spec}
	}
	web := func(secret, open string) api.Object {
		return deployment("prod", "web", `{"image":"web","env":{"DB_PASSWORD":"`+secret+`","a.secret-thing":"`+secret+`","MODE":"`+open+`",
			"URL":"postgres://app:`+secret+`@db/x"},"on_deploy":{"success":[{"url":"http://a","headers":{"Authorization":"`+secret+`"}}]}}`)
	}
	for _, step := range []struct {
		reason, secret, open string
	}{{"created", "hunter2", "first"}, {"changed", "hunter3", "second"}} {
		for _, dry := range []bool{true, false} {
			result, err := w.service.Apply(t.Context(), []api.Object{asset(step.secret), web(step.secret, step.open)},
				ApplyOptions{DryRun: dry})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"hunter2", "hunter3",
				base64.StdEncoding.EncodeToString([]byte("local hunter2")),
				base64.StdEncoding.EncodeToString([]byte("local hunter3")), "user x"} {
				if strings.Contains(string(answer), secret) {
					t.Errorf("%s: the answer holds %q: %s", step.reason, secret, answer)
				}
			}
			for _, part := range []string{"env.DB_PASSWORD", `"(hidden`, "files.conf", "files.local", "sha256:", `"` +
				step.open + `"`, "postgres://app:***@db/x", "headers.Authorization"} {
				if !strings.Contains(string(answer), part) {
					t.Errorf("%s: the answer doesn't say %q: %s", step.reason, part, answer)
				}
			}
		}
	}
}
