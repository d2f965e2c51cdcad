package ports

import (
	"testing"

	"tend.dev/tend/api"
)

func TestFixed(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   api.DeploymentSpec
		want   []string
	}{
		"chosen by the engine": {"no host port, no claim", api.DeploymentSpec{Ports: []string{"80"}}, nil},
		"one": {"loopback is the default address", api.DeploymentSpec{Ports: []string{"3000:80"}},
			[]string{"127.0.0.1:3000/tcp ports[0]"}},
		"range": {
			"each port of a range", api.DeploymentSpec{Ports: []string{"80", "0.0.0.0:53-54:53-54/udp"}},
			[]string{"0.0.0.0:53/udp ports[1]", "0.0.0.0:54/udp ports[1]"},
		},
		"choice from a range": {"the engine takes a free one of several",
			api.DeploymentSpec{Ports: []string{"3000-3009:80"}}, nil},
		"flag": {
			"-p binds every address, as docker run does",
			api.DeploymentSpec{Container: api.Container{DockerOptions: []string{"-p", "8443:443"}}},
			[]string{"0.0.0.0:8443/tcp docker_options"},
		},
		"host network": {"nothing is published",
			api.DeploymentSpec{Container: api.Container{NetworkMode: "host"}, Ports: []string{"3000:80"}}, nil},
		"host network by flag": {"the same",
			api.DeploymentSpec{Container: api.Container{DockerOptions: []string{"--network=host"}}, Ports: []string{"3000:80"}},
			nil},
		"bridge by flag": {
			"the engine's own network publishes",
			api.DeploymentSpec{Container: api.Container{DockerOptions: []string{"--network=bridge", "-p", "[::1]:9:9"}}},
			[]string{"[::1]:9/tcp docker_options"},
		},
		"malformed": {"validation says so", api.DeploymentSpec{Ports: []string{"x:y:z:0", "1:1"}},
			[]string{"127.0.0.1:1/tcp ports[1]"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, port := range Fixed(tc.spec) {
				got = append(got, port.String()+" "+port.Field)
			}
			if len(got) != len(tc.want) {
				t.Fatalf("%s: %v, want %v", tc.reason, got, tc.want)
			}
			for i := range got {
				if got[i] != tc.want[i] {
					t.Errorf("%s: %s, want %s", tc.reason, got[i], tc.want[i])
				}
			}
		})
	}
}

func TestClashes(t *testing.T) {
	cases := map[string]struct {
		a, b string
		want bool
	}{
		"same":                  {"127.0.0.1:80:80", "127.0.0.1:80:81", true},
		"another address":       {"127.0.0.1:80:80", "10.0.0.1:80:80", false},
		"every address":         {"0.0.0.0:80:80", "10.0.0.1:80:80", true},
		"every address, v6":     {"[::]:80:80", "10.0.0.1:80:80", true},
		"another protocol":      {"80:80/udp", "80:80/tcp", false},
		"another port":          {"80:80", "81:80", false},
		"another way of saying": {"[::1]:80:80", "[0:0:0:0:0:0:0:1]:80:80", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, b := Fixed(api.DeploymentSpec{Ports: []string{tc.a}})[0], Fixed(api.DeploymentSpec{Ports: []string{tc.b}})[0]
			if a.Clashes(b) != tc.want || b.Clashes(a) != tc.want {
				t.Errorf("%s and %s: %v, want %v", a, b, a.Clashes(b), tc.want)
			}
		})
	}
}
