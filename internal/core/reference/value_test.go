package reference

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

func TestExpandValue(t *testing.T) {
	three := 3
	spec := api.DeploymentSpec{
		Container: api.Container{Image: "web",
			Command: []string{"run", "${asset.conf.a}", "$${asset.conf.a}", "${ref.deployment.a.b}"},
			Labels:  map[string]string{"l": "<${asset.conf.a}>"}},
		Replicas: &three, Inits: []api.Init{{Name: "i", Command: []string{"${asset.conf.a}"}}},
	}
	spaces := Spaces{api.SpaceAsset: func(r api.Reference) (string, error) {
		if r.Path[0] != "conf" {
			return "", errors.New("no " + r.Text)
		}
		return "/path", nil
	}}
	got, err := ExpandValue(spec, spaces)
	if err != nil {
		t.Fatal(err)
	}
	want := spec
	want.Command = []string{"run", "/path", "${asset.conf.a}", "${ref.deployment.a.b}"}
	want.Labels = map[string]string{"l": "</path>"}
	want.Inits = []api.Init{{Name: "i", Command: []string{"/path"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if spec.Command[1] != "${asset.conf.a}" || spec.Labels["l"] != "<${asset.conf.a}>" {
		t.Error("the declared spec was written to")
	}
	spec.User = "${asset.gone.a}"
	if _, err := ExpandValue(spec, spaces); err == nil {
		t.Error("what has no answer was passed over")
	}
}
