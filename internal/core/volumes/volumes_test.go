package volumes_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/volumes"
)

func TestWritten(t *testing.T) {
	cases := map[string]struct {
		reason  string
		volumes []string
		options []string
		want    string
	}{
		"none":      {"nothing is mounted", nil, nil, ""},
		"named":     {"a volume is written unless it says otherwise", []string{"shop_db:/data"}, nil, "shop_db"},
		"read-only": {"ro among other modes counts", []string{"shop_db:/data:nocopy,ro", "/srv/db:/d:ro"}, nil, ""},
		"folder":    {"the path is compared as it is meant", []string{"/srv//db/:/data"}, nil, "/srv/db"},
		"machine": {"the engine's socket holds no data",
			[]string{"/var/run/docker.sock:/s", "/etc/localtime:/t"}, nil, ""},
		"twice": {"one mount more of the same volume", []string{"db:/a", "db:/b"}, nil, "db"},
		"-v":    {"a flag mounts as the field does", nil, []string{"-v", "db:/a", "--volume=/srv/x:/b:ro"}, "db"},
		"--mount": {"the long form too", nil,
			[]string{"--mount", "type=volume,source=db,target=/a", "--mount", "type=bind,source=/srv/x,target=/b,readonly"},
			"db"},
		"anonymous": {"a volume without a name is the container's own", nil,
			[]string{"-v", "/cache", "--mount", "type=volume,target=/a"}, ""},
		"tmpfs":     {"memory isn't a volume", nil, []string{"--mount", "type=tmpfs,target=/a"}, ""},
		"malformed": {"validation reports it", []string{"db", "db:/a"}, nil, "db"},
		"malformed flag": {"validation reports it; the fields count all the same", []string{"db:/a"},
			[]string{"--nonsense"}, "db"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := api.DeploymentSpec{Container: api.Container{Volumes: tc.volumes, DockerOptions: tc.options}}
			if got := strings.Join(volumes.Written(spec), " "); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestSecondWriter(t *testing.T) {
	compose := map[string]string{volumes.LabelProject: "shop", volumes.LabelService: "db"}
	shared := func(names string) map[string]string { return map[string]string{api.SharedVolumes: names} }
	cases := map[string]struct {
		reason  string
		written []string
		labels  map[string]string
		running []volumes.Container
		detail  string
		next    string
	}{
		"alone": {"nobody else runs", []string{"db"}, nil, nil, "", ""},
		"another volume": {"names are compared as a whole", []string{"db"}, nil,
			[]volumes.Container{{Name: "x", Writes: []string{"db2", "/srv/db"}}}, "", ""},
		"Compose": {"the message names the project and both ways out", []string{"shop_db"}, nil,
			[]volumes.Container{{Name: "shop-db-1", Labels: compose, Writes: []string{"shop_db"}}},
			"the volume shop_db is in use: container shop-db-1 (service db of the Compose project shop) writes to it",
			"docker compose -p shop down (without -v), then apply again; or take the project over: tend adopt compose"},
		"by hand": {"a docker run isn't a project", []string{"/srv/db"}, nil,
			[]volumes.Container{{Name: "db", Writes: []string{"/srv/db"}}},
			"the folder /srv/db is in use: container db writes to it",
			"docker stop db, then apply again; or mount it read-only (/srv/db:…:ro)"},
		"shared by us": {"the manifest says that several may write", []string{"media", "db"}, shared("x, media"),
			[]volumes.Container{{Name: "p", Writes: []string{"media"}}, {Name: "q", Writes: []string{"db"}}},
			"the volume db is in use: container q writes to it",
			"docker stop q, then apply again; or mount it read-only (db:…:ro)"},
		"shared by them": {"the other container's label is as good", []string{"media"}, nil,
			[]volumes.Container{{Name: "p", Labels: shared("media"), Writes: []string{"media"}}}, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			writer, found := volumes.SecondWriter(tc.written, tc.labels, tc.running)
			if found != (tc.detail != "") {
				t.Fatalf("%s: found %v: %+v", tc.reason, found, writer)
			}
			if found && (writer.Detail() != tc.detail || writer.Next() != tc.next) {
				t.Errorf("%s:\n%s\n%s", tc.reason, writer.Detail(), writer.Next())
			}
		})
	}
}

// TestWrittenByInits: an init container has the volumes of its pod, and docker_options of its own.
func TestWrittenByInits(t *testing.T) {
	spec := api.DeploymentSpec{
		Container: api.Container{Volumes: []string{"db:/a"},
			DockerOptions: []string{"-v", "cache:/c", "--volumes-from", "one", "--volumes-from=two:ro"}},
		Inits: []api.Init{
			{Name: "plain"},
			{Name: "own", DockerOptions: []string{"-v", "seed:/s", "-v", "read:/r:ro", "--volumes-from", "three:z"}},
		},
	}
	if got := strings.Join(volumes.Written(spec), " "); got != "db cache seed" {
		t.Errorf("written: %q", got)
	}
	if got := strings.Join(volumes.From(spec), " "); got != "one three" {
		t.Errorf("of other containers: %q", got)
	}
}

// TestSeveral: replicas that write to one volume are warned of, unless the manifest says that several may.
func TestSeveral(t *testing.T) {
	shared := map[string]string{api.SharedVolumes: "db, /srv/media"}
	for name, tc := range map[string]struct {
		replicas int
		volumes  []string
		labels   map[string]string
		want     string
	}{
		"one":       {1, []string{"db:/a"}, nil, ""},
		"two":       {2, []string{"db:/a"}, nil, "volumes: 2 replicas write to the volume db at once"},
		"read-only": {2, []string{"db:/a:ro"}, nil, ""},
		"shared":    {2, []string{"db:/a", "/srv/media:/m"}, shared, ""},
		"one isn't": {3, []string{"db:/a", "/srv/x:/x", "yy:/y"}, shared,
			"volumes: 3 replicas write to the folder /srv/x and the volume yy at once"},
		"none": {3, nil, nil, ""},
	} {
		got := volumes.Several(api.DeploymentSpec{Container: api.Container{Volumes: tc.volumes, Labels: tc.labels}},
			tc.replicas)
		if !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestNoSecondWriterIsMissed: whatever runs, a start is refused exactly if a container writes to one of the sources and
// neither side says that it is shared.
func TestNoSecondWriterIsMissed(t *testing.T) {
	sources := []string{"db", "media", "/srv/db"}
	rapid.Check(t, func(t *rapid.T) {
		some := func(what string) []string {
			return rapid.SliceOfDistinct(rapid.SampledFrom(sources), rapid.ID).Draw(t, what)
		}
		label := func(what string) map[string]string {
			return map[string]string{api.SharedVolumes: strings.Join(some(what), ",")}
		}
		written, labels := some("written"), label("labels")
		var running []volumes.Container
		want := false
		for range rapid.IntRange(0, 3).Draw(t, "others") {
			other := volumes.Container{Name: "x", Labels: label("other labels"), Writes: some("writes")}
			running = append(running, other)
			for _, source := range other.Writes {
				free := slices.Contains(strings.Split(labels[api.SharedVolumes]+","+other.Labels[api.SharedVolumes], ","), source)
				want = want || slices.Contains(written, source) && !free
			}
		}
		writer, found := volumes.SecondWriter(written, labels, running)
		if found != want || found && !slices.Contains(written, writer.Source) {
			t.Fatalf("found %v %+v, want %v", found, writer, want)
		}
	})
}
