package verbs

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
)

func TestPorts(t *testing.T) {
	cases := map[string]struct {
		reason string
		stored string
		spec   string
		taken  bool
	}{
		"same":        {"one address, one port", `{"ports":["3000:80"]}`, `{"ports":["3000:81"]}`, true},
		"spelled out": {"loopback is the default", `{"ports":["127.0.0.1:3000:80"]}`, `{"ports":["3000:80"]}`, true},
		"wildcard": {"the wildcard takes every address", `{"ports":["0.0.0.0:3000:80"]}`,
			`{"ports":["3000:80"]}`, true},
		"within a range": {"a range is its ports", `{"ports":["3000-3005:80-85"]}`, `{"ports":["3003:80"]}`, true},
		"other address": {"two addresses, two ports", `{"ports":["127.0.0.2:3000:80"]}`, `{"ports":["3000:80"]}`,
			false},
		"other protocol": {"tcp and udp don't meet", `{"ports":["3000:80/udp"]}`, `{"ports":["3000:80"]}`, false},
		"no host port":   {"the engine chooses", `{"ports":["80"]}`, `{"ports":["80"]}`, false},
		"range to choose": {"the engine takes a free one of the range", `{"ports":["3000:80"]}`,
			`{"ports":["3000-3009:80"]}`, false},
		"host network": {"ports are not published in host mode", `{"ports":["3000:80"],"network_mode":"host"}`,
			`{"ports":["3000:80"]}`, false},
		"flags": {"flags publish too, on every address", `{"docker_options":["-p","3000:80"]}`,
			`{"ports":["3000:80"]}`, true},
		"flags in host": {"nothing is published in host mode", `{"docker_options":["-p","3000:80","--network=host"]}`,
			`{"ports":["3000:80"]}`, false},
		"none there": {"what has no replicas publishes nothing", `{"ports":["3000:80"],"replicas":0}`,
			`{"ports":["3000:80"]}`, false},
		"no replica": {"nothing runs, nothing clashes", `{"ports":["3000:80"]}`,
			`{"ports":["3000:80"],"replicas":0}`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(deployment("prod", "stored", tc.stored))
			_, err := w.apply(ApplyOptions{}, deployment("prod", "new", tc.spec))
			if !tc.taken {
				if err != nil {
					t.Errorf("%s: %v", tc.reason, err)
				}
				return
			}
			if refused := wantReason(t, err, PortTaken); refused.Errors[0].Field != "ports[0]" {
				t.Errorf("%s: the fault is at %q", tc.reason, refused.Errors[0].Field)
			}
		})
	}
}

func TestPortsComeFree(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "old", `{"ports":["3000:80"]}`))
	w.mustApply(deployment("prod", "old", `{"ports":["3000:80"],"image":"web:2"}`))
	if _, err := w.service.Delete(t.Context(), TargetOf(ref("prod", "old")), ""); err != nil {
		t.Fatal(err)
	}
	w.mustApply(deployment("prod", "new", `{"ports":["3000:80"]}`))
	_, err := w.service.Scale(t.Context(), Target{Name: "new"}, 2, FieldManager{})
	wantReason(t, err, Invalid)
	if got := w.object(ref("prod", "new")); got.Metadata.Generation != 1 {
		t.Error("the refused scale was stored")
	}
}

func TestFlagsOfSeveralReplicas(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		spec   string
		want   Reason
	}{
		"port":         {"a port has one publisher", `{"replicas":3,"docker_options":["-p","8123:80"]}`, Invalid},
		"chosen port":  {"the engine chooses", `{"replicas":3,"docker_options":["-p","80"]}`, ""},
		"address":      {"an address has one container", `{"replicas":3,"docker_options":["--ip=10.0.0.9"]}`, Invalid},
		"IPv6 address": {"that too", `{"replicas":3,"docker_options":["--ip6=fd00::9"]}`, Invalid},
		"MAC address":  {"and that", `{"replicas":3,"docker_options":["--mac-address=92:d0:c6:0a:29:33"]}`, Invalid},
		"one container": {"one can have them all", `{"replicas":1,"docker_options":["--ip=10.0.0.9","-p","8123:80"]}`,
			""},
	} {
		w := newWorld(t)
		_, err := w.apply(ApplyOptions{}, deployment("prod", "web", tc.spec))
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s: %s: %v", name, tc.reason, err)
			}
			continue
		}
		if refused := wantReason(t, err, tc.want); refused.Errors[0].Field != "docker_options" {
			t.Errorf("%s: %s: the fault is at %q", name, tc.reason, refused.Errors[0].Field)
		}
	}
}

// TestPortsOfProxies: a port at which all proxies, or all nodes for their network, listen belongs to no other
// object, on any node, in whichever order they come.
func TestPortsOfProxies(t *testing.T) {
	listens := func(name, spec string) api.Object {
		return api.Object{Kind: api.KindIngress, Scope: "prod", Name: name, Spec: json.RawMessage(spec)}
	}
	publishes := deployment("prod", "db", `{"ports":["0.0.0.0:5432:5432"]}`)
	network := func(spec string) api.Object {
		return api.Object{Kind: api.KindNetwork, Scope: api.Unscoped, Name: api.Network, Spec: json.RawMessage(spec)}
	}
	datagrams := func(port string) api.Object { return deployment("prod", "vpn", `{"ports":["`+port+`"]}`) }
	cases := map[string]struct {
		stored, written api.Object
		field           string // empty: it is accepted
	}{
		"the network has it":            {network(`{}`), datagrams("8689:51820/udp"), "ports[0]"},
		"the network has another one":   {network(`{"port":9000}`), datagrams("8689:51820/udp"), ""},
		"the network has datagrams":     {network(`{}`), datagrams("8689:51820"), ""},
		"a container has the network's": {datagrams("9000:51820/udp"), network(`{"port":9000}`), "port"},
		"a proxy has the network's":     {listens("dns", `{"listen":"9000/udp"}`), network(`{"port":9000}`), "port"},
		"a container has it":            {publishes, listens("db", `{"listen":"5432"}`), "listen"},
		"a proxy has it":                {listens("db", `{"listen":"5432"}`), publishes, "ports[0]"},
		"another ingress has it": {listens("db", `{"listen":"5432"}`),
			listens("other", `{"listen":"10.0.0.1:5432"}`), "listen"},
		"the other protocol": {listens("db", `{"listen":"53"}`), listens("other", `{"listen":"53/udp"}`), ""},
		"one address, another one": {listens("db", `{"listen":"10.0.0.1:53"}`),
			listens("other", `{"listen":"10.0.0.2:53"}`), ""},
		"the same object again": {listens("db", `{"listen":"5432"}`), listens("db", `{"listen":"5432/tcp"}`), ""},
		"a container without it": {listens("db", `{"listen":"5432"}`),
			deployment("prod", "db", `{"ports":["5432"],"replicas":3}`), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(tc.stored)
			_, err := w.apply(ApplyOptions{}, tc.written)
			if tc.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if refused := wantReason(t, err, PortTaken); refused.Errors[0].Field != tc.field {
				t.Errorf("the fault is at %q", refused.Errors[0].Field)
			}
		})
	}
}
