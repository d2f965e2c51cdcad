package verbs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

func newRegistryWorld(t *testing.T) *world {
	return newWorld(t, func(o *Options) {
		sealed := 0
		o.Seal = func(plain []byte) ([]byte, error) {
			sealed++
			out := append(slices.Clone(plain), byte('0'+sealed)) // never the same twice, as encryption is
			slices.Reverse(out)
			return out, nil
		}
		o.MAC = func(plain []byte) string { return api.AssetDigest(plain)[7:17] }
	})
}

func unseal(sealed []byte) ([]byte, error) {
	out := slices.Clone(sealed)
	slices.Reverse(out)
	return out[:len(out)-1], nil
}

func registry(name, spec string) api.Object {
	return api.Object{Kind: api.KindRegistry, Scope: api.Unscoped, Name: name, Spec: json.RawMessage(spec)}
}

func TestTokensAreSealedAtTheBorder(t *testing.T) {
	w := newRegistryWorld(t)
	ghcr := registry("ghcr", `{"url":"ghcr.io","username":"ann","token":"hunter2"}`)
	created := w.mustApply(ghcr)
	stored := w.object(ghcr.Ref())
	all, _ := json.Marshal([]any{created, stored})
	if strings.Contains(string(all), "hunter2") {
		t.Errorf("the token is shown: %s", all)
	}
	spec, err := api.DecodeSpec[api.RegistrySpec](*stored)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := records.OpenToken(spec.Token, unseal); plain != "hunter2" || err != nil {
		t.Errorf("it opens as %q, %v", plain, err)
	}
	if again := w.mustApply(ghcr); again.Changed() {
		t.Errorf("the same token applied again: %v", again.Objects)
	}
	if again := w.mustApply(registry("ghcr", string(stored.Spec))); again.Changed() {
		t.Errorf("applied as `get` shows it: %v", again.Objects)
	}
	rotated := w.mustApply(registry("ghcr", `{"url":"ghcr.io","username":"ann","token":"correct horse"}`))
	changes, _ := json.Marshal(rotated.Objects[0].Changes)
	if want := `[{"path":"token","old":"(sealed)","new":"(sealed)"}]`; string(changes) != want {
		t.Errorf("reported as %s, want %s", changes, want)
	}
	_, err = w.apply(ApplyOptions{}, registry("other", `{"url":"quay.io","username":"ann","token":"`+spec.Token+`"}`))
	if refused := wantReason(t, err, Invalid); strings.Contains(refused.Error(), spec.Token) {
		t.Errorf("refused with %v", refused)
	}
}

func TestPasswordsAreSealedToo(t *testing.T) {
	w := newRegistryWorld(t)
	w.mustApply(registry("ghcr", `{"url":"ghcr.io","username":"ann","password":"hunter2"}`))
	if spec := string(w.object(registry("ghcr", "").Ref()).Spec); strings.Contains(spec, "hunter2") ||
		!strings.Contains(spec, `"password":"sealed:`) {
		t.Errorf("stored as %s", spec)
	}
}

func TestOneRegistryPerHost(t *testing.T) {
	w := newRegistryWorld(t)
	w.mustApply(registry("hub", `{"url":"docker.io","helper":"a"}`))
	_, err := w.apply(ApplyOptions{}, registry("second", `{"url":"https://index.docker.io/v1/","helper":"b"}`))
	if refused := wantReason(t, err, RegistryTaken); !strings.Contains(refused.Errors[0].Detail,
		"registry/hub already declares docker.io") {
		t.Errorf("refused with %v", refused.Errors)
	}
	_, err = w.apply(ApplyOptions{}, registry("a", `{"url":"ghcr.io","helper":"a"}`),
		registry("b", `{"url":"GHCR.io","helper":"b"}`))
	wantReason(t, err, RegistryTaken)
	w.mustApply(registry("hub", `{"url":"quay.io","helper":"a"}`),
		registry("second", `{"url":"docker.io","helper":"b"}`))
}

func TestWithoutAKeyThereAreNoTokens(t *testing.T) {
	w := newWorld(t)
	_, err := w.apply(ApplyOptions{}, registry("ghcr", `{"url":"ghcr.io","username":"ann","token":"hunter2"}`))
	wantReason(t, err, Invalid)
	w.mustApply(registry("ecr", `{"url":"x.example","helper":"ecr-login"}`))
}
