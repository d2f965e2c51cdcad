package ingress

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tend.dev/tend/api"
)

// equated has routes compared.
var equated = cmpopts.EquateComparable(api.Listen{})

func TestCompile(t *testing.T) {
	services := map[string]Service{
		"prod/shop": {
			Spec: api.DeploymentSpec{Ports: []string{"9000:8080", "9001"}},
			Pods: []Candidate{
				{Name: "prod-shop.b", Address: "172.18.0.3", Ready: true},
				{Name: "prod-shop.a", Address: "172.18.0.2", Ready: true},
				{Name: "prod-shop.c", Address: "172.18.0.4"}, // not ready
				{Name: "prod-shop.d", Ready: true},           // no address yet
			},
		},
		"prod/bare": {Pods: []Candidate{{Name: "prod-bare.a", Address: "172.18.0.9", Ready: true}}},
		"prod/host": {
			Spec: api.DeploymentSpec{Container: api.Container{NetworkMode: "host"}},
			Pods: []Candidate{{Name: "prod-host.a", Ready: true}},
		},
		"prod/process": {Pods: []Candidate{
			{Name: "prod-process.a", Address: "127.0.0.1", Ready: true,
				Ports: []api.PortBinding{{Container: 23456, HostPort: 23456}}},
			{Name: "prod-process.b", Address: "127.0.0.1", Ready: true,
				Ports: []api.PortBinding{{Container: 80, HostPort: 8080}, {Container: 81, HostPort: 8081}}},
		}},
		"prod/both": {Pods: []Candidate{{Name: "prod-both.a", Address: "127.0.0.1", Ready: true, Ports: []api.PortBinding{
			{Container: 53, HostPort: 9053, Protocol: "tcp"}, {Container: 53, HostPort: 9054, Protocol: "udp"},
		}}}},
	}
	off := false
	for name, test := range map[string]struct {
		spec api.IngressSpec
		own  string
		want []Route
	}{
		"the workload's first port": {
			api.IngressSpec{Host: "Shop.org"}, "shop",
			[]Route{{Host: "shop.org", Path: "/",
				Pods: []Pod{{Name: "prod-shop.a", Address: "172.18.0.2:8080"}, {Name: "prod-shop.b", Address: "172.18.0.3:8080"}}}},
		},
		"a port of its own": {
			api.IngressSpec{Host: "shop.org", Service: "bare", Port: 3000}, "shop",
			[]Route{{Host: "shop.org", Path: "/", Pods: []Pod{{Name: "prod-bare.a", Address: "172.18.0.9:3000"}}}},
		},
		"no port anywhere": {
			api.IngressSpec{Host: "shop.org"}, "bare",
			[]Route{{Host: "shop.org", Path: "/", Pods: []Pod{{Name: "prod-bare.a", Address: "172.18.0.9:80"}}}},
		},
		"the host's network": {
			api.IngressSpec{Host: "shop.org"}, "host",
			[]Route{{Host: "shop.org", Path: "/", Pods: []Pod{{Name: "prod-host.a", Address: "127.0.0.1:80"}}}},
		},
		"plain processes": {
			api.IngressSpec{Host: "shop.org"}, "process",
			[]Route{{Host: "shop.org", Path: "/",
				Pods: []Pod{{Name: "prod-process.a", Address: "127.0.0.1:23456"},
					{Name: "prod-process.b", Address: "127.0.0.1:8080"}}}},
		},
		"a port of every node": {
			api.IngressSpec{Listen: "53/udp", Service: "bare", ProxyProtocol: true}, "shop",
			[]Route{{Listen: api.Listen{Port: 53, Protocol: "udp"}, Announce: true,
				Pods: []Pod{{Name: "prod-bare.a", Address: "172.18.0.9:53"}}}},
		},
		"the process's port of the protocol": {
			api.IngressSpec{Listen: "7000/udp", Port: 53}, "both",
			[]Route{{Listen: api.Listen{Port: 7000, Protocol: "udp"},
				Pods: []Pod{{Name: "prod-both.a", Address: "127.0.0.1:9054"}}}},
		},
		"nobody": {api.IngressSpec{Host: "shop.org"}, "missing", []Route{{Host: "shop.org", Path: "/"}}},
		"locations, a policy and TLS": {
			api.IngressSpec{
				Host: "*.shop.org", TLS: &api.IngressTLS{}, LB: &api.IngressLB{Policy: "least_conn"},
				Locations: []api.IngressLocation{{Path: "/api/", Strip: true}, {Path: "/"}},
			}, "missing",
			[]Route{
				{Host: "*.shop.org", Path: "/api", Strip: true, Secure: true, Policy: "least_conn"},
				{Host: "*.shop.org", Path: "/", Secure: true, Policy: "least_conn"},
			},
		},
		"TLS turned off": {
			api.IngressSpec{Host: "shop.org", TLS: &api.IngressTLS{Enabled: &off}}, "missing",
			[]Route{{Host: "shop.org", Path: "/"}},
		},
	} {
		ref := api.Ref{Kind: api.KindIngress, Scope: "prod", Name: test.own}
		for i := range test.want {
			test.want[i].Ingress = ref
		}
		got := Compile([]Declared{{Ref: ref, Spec: test.spec}}, func(scope, name string) (Service, bool) {
			found, ok := services[scope+"/"+name]
			return found, ok
		})
		if diff := cmp.Diff(test.want, got, equated); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestTheOrderOfIngressesDoesNotMatter(t *testing.T) {
	of := func(name string) Declared {
		return Declared{Ref: api.Ref{Kind: api.KindIngress, Scope: "prod", Name: name},
			Spec: api.IngressSpec{Host: "same.org"}}
	}
	none := func(string, string) (Service, bool) { return Service{}, false }
	one, other := Compile([]Declared{of("a"), of("b")}, none), Compile([]Declared{of("b"), of("a")}, none)
	if diff := cmp.Diff(one, other, equated); diff != "" {
		t.Error(diff)
	}
}
