package boundary

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/api"
)

var hosts = []Host{
	{Name: "shop.example"}, {Name: "*.apps.example"}, {Name: "*.own.example", OnDemand: true},
	{Name: "in.example", Internal: true}, {Name: "*.in.example", Internal: true},
}

// TestCertificateKey: the keys that certmagic makes for hosts that are served are allowed, and those for other hosts
// aren't.
func TestCertificateKey(t *testing.T) {
	for name, want := range map[string]bool{
		"shop.example": true, "Shop.Example": true, "*.apps.example": true, "a.own.example": true,
		"*.own.example": true, "in.example": true,
		"a.apps.example": false, "b.a.own.example": false, "own.example": false, "other.example": false, "*.example": false,
		"*": false, "example": false,
	} {
		for _, issuer := range []string{"acme-v02.api.letsencrypt.org-directory", "internal"} {
			keys := certmagic.StorageKeys
			for _, key := range []string{keys.SiteCert(issuer, name), keys.SitePrivateKey(issuer, name),
				keys.SiteMeta(issuer, name)} {
				if got := CertificateKey(hosts, key); got != want {
					t.Errorf("%s: %v", key, got)
				}
			}
			if got := CertificateFolder(hosts, keys.CertsSitePrefix(issuer, name)); got != want {
				t.Errorf("the folder of %s: %v", name, got)
			}
		}
		staple := certmagic.StorageKeys.OCSPStaple(&certmagic.Certificate{Names: []string{name}}, []byte("chain"))
		if got := CertificateKey(hosts, staple); got != want {
			t.Errorf("%s: %v", staple, got)
		}
	}
}

// TestCertificateRoom: no bound can be passed, also not with files in folders of their own.
func TestCertificateRoom(t *testing.T) {
	full := CertificateRoom{Files: MaxCertificateFiles, Accounts: MaxAccountFiles, Bytes: MaxCertificateBytes}
	if why := full.Full(); why != "" {
		t.Error(why)
	}
	for key, want := range map[string]string{"ocsp/a-1": "30001 files of certificates",
		"certificates/any/a/a.crt": "30001 files", "acme/a/b": "30001 files"} {
		over := full
		if over.Add(key, 0); !strings.HasPrefix(over.Full(), want) {
			t.Errorf("%s: %s", key, over.Full())
		}
	}
	accounts, bytes := CertificateRoom{Accounts: MaxAccountFiles}, CertificateRoom{Bytes: MaxCertificateBytes}
	accounts.Add("acme/a/b", 1)
	bytes.Add("ocsp/a-1", 1)
	if accounts.Full() != "301 files of accounts at authorities, of 300" ||
		!strings.HasPrefix(bytes.Full(), "134217729 bytes") {
		t.Errorf("%s; %s", accounts.Full(), bytes.Full())
	}
}

func TestSignsFor(t *testing.T) {
	for names, want := range map[string]bool{
		"in.example": true, "a.in.example": true, "*.in.example": true, "in.example a.in.example": true,
		"shop.example": false, "in.example shop.example": false, "b.a.in.example": false, "example": false, "*": false,
		"": false, "*.example": false,
	} {
		if got := SignsFor(hosts, strings.Fields(names)); got != want {
			t.Errorf("%q: %v", names, got)
		}
	}
}

func TestAddress(t *testing.T) {
	for text, want := range map[string]bool{
		"10.0.0.1": true, "192.0.2.1": true, "8.8.8.8": true, "fd00::1": true, "2001:db8::1": true,
		"0.0.0.0": false, "127.0.0.1": false, "127.9.9.9": false, "169.254.169.254": false, "224.0.0.1": false,
		"255.255.255.255": false,
		"::":              false, "::1": false, "fe80::1": false, "ff02::1": false,
	} {
		if got := Address(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if Address(netip.Addr{}) {
		t.Error("no address is one")
	}
}

// TestNetwork: WireGuard takes no other keys, and people read no longer texts.
func TestNetwork(t *testing.T) {
	key := strings.Repeat("A", 43) + "="
	for name, tc := range map[string]struct {
		said api.NetworkNodeStatus
		want string
	}{
		"nothing": {}, "a key": {said: api.NetworkNodeStatus{Key: key}},
		"any text":            {api.NetworkNodeStatus{Key: "changes each time"}, "its key"},
		"31 bytes":            {api.NetworkNodeStatus{Key: strings.Repeat("A", 42) + "=="}, "its key"},
		"33 bytes":            {api.NetworkNodeStatus{Key: strings.Repeat("A", 44)}, "its key"},
		"in lines":            {api.NetworkNodeStatus{Key: "\n" + key}, "its key"},
		"written differently": {api.NetworkNodeStatus{Key: strings.Repeat("A", 42) + "B="}, "its key"},
		"of URLs":             {api.NetworkNodeStatus{Key: strings.Repeat("_", 42) + "8="}, "its key"},
		"a message":           {said: api.NetworkNodeStatus{Message: strings.Repeat("x", maxReason)}},
		"a long one":          {api.NetworkNodeStatus{Message: strings.Repeat("x", maxReason+1)}, "its message"},
		"networks":            {said: api.NetworkNodeStatus{Taken: make([]netip.Prefix, MaxTaken)}},
		"more networks":       {api.NetworkNodeStatus{Taken: make([]netip.Prefix, MaxTaken+1)}, "its machine is in"},
	} {
		if got := Network(tc.said); !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestPod: with a network a pod is where its node's subnet is; without one at a private address that no machine has.
func TestPod(t *testing.T) {
	subnet, nodes := netip.MustParsePrefix("10.80.4.0/22"), []netip.Addr{netip.MustParseAddr("10.0.0.2")}
	for text, want := range map[string][2]bool{ // with a network, without one
		"10.80.4.2": {true, true}, "10.80.7.255": {true, true}, "10.80.8.1": {false, true}, "172.17.0.2": {false, true},
		"10.0.0.2":  {false, false},
		"127.0.0.1": {false, false}, "8.8.8.8": {false, false}, "169.254.169.254": {false, false}, "fd00::2": {false, true},
		"0.0.0.0": {false, false},
	} {
		address := netip.MustParseAddr(text)
		if got := [2]bool{Pod(address, subnet, true, nil), Pod(address, netip.Prefix{}, false, nodes)}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if Pod(netip.MustParseAddr("10.80.4.2"), netip.Prefix{}, true, nil) {
		t.Error("a node without a subnet has pods in the network")
	}
}

func TestPrivate(t *testing.T) {
	for text, want := range map[string]bool{
		"10.80.0.0/22": true, "10.0.0.0/8": true, "172.18.0.0/16": true, "192.168.1.0/24": true,
		"100.64.0.0/16": true, "fd00::/64": true,
		"0.0.0.0/0": false, "8.0.0.0/8": false, "172.0.0.0/8": false, "192.0.0.0/8": false, "10.0.0.0/7": false,
		"127.0.0.0/8": false,
	} {
		if got := Private(netip.MustParsePrefix(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
