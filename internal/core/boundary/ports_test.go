package boundary_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/boundary"
)

func TestPorts(t *testing.T) {
	long := strings.Repeat("é", 1000)
	said := api.IngressNodeStatus{Node: "w", HTTP: api.ListenerStatus{Open: true}, HTTPS: api.ListenerStatus{Open: true},
		Certificates: map[string]api.CertificateStatus{"bank.example": {}},
		Ports:        map[string]api.ListenerStatus{":7000": {Address: long, Wanted: true, Error: long}, ":22": {Open: true}},
		Unreached:    map[string]string{"a": long, "a node that isn't": "x"}}
	cut := strings.Repeat("é", 256)
	want := api.IngressNodeStatus{Node: "w",
		Ports:     map[string]api.ListenerStatus{":7000": {Address: cut, Wanted: true, Error: cut}},
		Unreached: map[string]string{"a": cut}}
	nodes := map[string]bool{"a": true, "w": true}
	if diff := cmp.Diff(want, boundary.Ports(said, map[string]bool{":7000": true}, nodes)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(api.IngressNodeStatus{Node: "w"}, boundary.Ports(said, nil, nodes)); diff != "" {
		t.Error("no port is declared:", diff)
	}
}
