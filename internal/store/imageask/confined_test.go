package imageask_test

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/imageask"
)

// TestARequestOfADeployerIsConfined, and is another one than the admin's for the same image.
func TestARequestOfADeployerIsConfined(t *testing.T) {
	spec := api.WorkloadSpec{DeploymentSpec: api.DeploymentSpec{Container: api.Container{Image: "web:1"}}}
	object := api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	of := imageask.Request(object, spec)
	object.Metadata.Stamps = map[string]string{api.StampConfined: "true"}
	if theirs := imageask.Request(object, spec); of.Confined || !theirs.Confined || theirs.Equal(of) {
		t.Errorf("an admin asks for %+v, a deployer for %+v", of, theirs)
	}
}
