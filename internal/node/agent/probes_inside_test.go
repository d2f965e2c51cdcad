package agent

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

func TestReachedAt(t *testing.T) {
	given := func(ip string, container, host int) []api.PortBinding {
		return []api.PortBinding{{Container: container, Protocol: "tcp", HostIP: ip, HostPort: host}}
	}
	for name, tc := range map[string]struct {
		reason    string
		container runtime.Container
		want      string
	}{
		"bridge": {"a container is asked itself, not through a published port",
			runtime.Container{Address: "172.20.0.2", Ports: given("127.0.0.1", 8080, 31000)}, "172.20.0.2:8080"},
		"IPv6": {"an address with colons is bracketed",
			runtime.Container{Address: "fd00::2"}, "[fd00::2]:8080"},
		"host network": {"what shares the node's network listens where it declares",
			runtime.Container{Address: api.Loopback}, "127.0.0.1:8080"},
		"process": {"a plain process listens where its environment says",
			runtime.Container{Address: api.Loopback, Ports: given("127.0.0.1", 8080, 20123)}, "127.0.0.1:20123"},
		"process on all addresses": {"all addresses are loopback too",
			runtime.Container{Address: api.Loopback, Ports: given("0.0.0.0", 8080, 20123)}, "127.0.0.1:20123"},
		"process on one address": {"and one is that one",
			runtime.Container{Address: api.Loopback, Ports: given("192.0.2.7", 8080, 80)}, "192.0.2.7:80"},
		"process, another port": {"a port that wasn't declared is asked as it is",
			runtime.Container{Address: api.Loopback, Ports: given("127.0.0.1", 9090, 20123)}, "127.0.0.1:8080"},
	} {
		if got := reachedAt(tc.container, 8080); got != tc.want {
			t.Errorf("%s: %s, got %s, want %s", name, tc.reason, got, tc.want)
		}
	}
}
