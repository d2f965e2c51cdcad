package takeover_test

import (
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
	"tend.dev/tend/internal/core/takeover"
)

func TestFit(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	spec := func(image string, volumes, options []string) api.DeploymentSpec {
		return api.DeploymentSpec{Container: api.Container{Image: image, Volumes: volumes, DockerOptions: options}}
	}
	built := api.DeploymentSpec{Container: api.Container{Build: &api.Build{Context: "."}}}
	hosted, joined := spec("i", nil, nil), spec("i", nil, nil)
	hosted.NetworkMode, joined.Networks = "host", []string{"edge", "shop_default"}
	shop := takeover.Network{Name: "shop_default", Aliases: []string{"db", "shop-db-1"}}
	cases := map[string]struct {
		reason  string
		spec    api.DeploymentSpec
		runs    takeover.Runs
		image   string
		volumes string
		options string
		notes   int
	}{
		"as declared": {"nothing is to be changed", spec("i", []string{"shop_db:/data"}, nil),
			takeover.Runs{Image: "i", Mounts: []takeover.Mount{{"shop_db", "/data"}}}, "i", "shop_db:/data", "", 0},
		"built": {"what Compose built is used as it is", built, takeover.Runs{Image: "shop-web"},
			"shop-web", "", "", 1},
		"another image": {"the file may be newer than the container", spec("i:2", nil, nil),
			takeover.Runs{Image: "i:1"}, "i:2", "", "", 1},
		"another volume": {"the data is in the one that runs; its mode is the file's",
			spec("i", []string{"app_db:/data:nocopy"}, nil),
			takeover.Runs{Image: "i", Mounts: []takeover.Mount{{"shop_db", "/data"}}}, "i", "shop_db:/data:nocopy", "", 1},
		"a folder now": {"the file says so", spec("i", []string{"/srv/db:/data"}, nil),
			takeover.Runs{Image: "i", Mounts: []takeover.Mount{{"shop_db", "/data"}}}, "i", "/srv/db:/data", "", 0},
		"without a name": {"its data would be lost with the container",
			spec("i", nil, []string{"--init=true", "--volume=/data"}),
			takeover.Runs{Image: "i", Containers: 1, Mounts: []takeover.Mount{{id, "/data"}}}, "i", id +
				":/data", "--init=true", 1},
		"several without a name": {"which one is a person's to say", spec("i", nil, nil),
			takeover.Runs{Image: "i", Containers: 2, Mounts: []takeover.Mount{{id, "/data"}}}, "i", "", "", 1},
		"undeclared": {"an image's volume that was given a name", spec("i", nil, nil),
			takeover.Runs{Image: "i", Containers: 2, Mounts: []takeover.Mount{{"shop_db", "/data"}}}, "i",
			"shop_db:/data", "", 0},
		"network": {"the others look for it there by its names", spec("i", nil, []string{"--network-alias=my_db"}),
			takeover.Runs{Image: "i", Networks: []takeover.Network{shop}}, "i", "",
			"--network-alias=my_db --network=tend0 --network=name=shop_default,alias=db,alias=shop-db-1", 0},
		"networks": {"those of the file are joined too, each once", joined,
			takeover.Runs{Image: "i", Networks: []takeover.Network{shop}},
			"i", "", "--network=tend0 --network=edge --network=name=shop_default,alias=db,alias=shop-db-1", 0},
		"network of the host": {"it joins none", hosted,
			takeover.Runs{Image: "i", Networks: []takeover.Network{shop}}, "i", "", "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tc.spec.Volumes)
			got, notes := takeover.Fit(tc.spec, tc.runs)
			if got.Image != tc.image || got.Build != nil || strings.Join(got.Volumes, " ") != tc.volumes ||
				strings.Join(got.DockerOptions, " ") != tc.options || len(notes) != tc.notes {
				t.Errorf("%s: image %s, volumes %v, options %v, notes %q", tc.reason, got.Image, got.Volumes,
					got.DockerOptions, notes)
			}
			if _, err := dockerflags.Of(got); err != nil {
				t.Errorf("its flags: %v", err)
			}
			if !slices.Equal(before, tc.spec.Volumes) {
				t.Errorf("the declared spec was changed to %v", tc.spec.Volumes)
			}
		})
	}
}
