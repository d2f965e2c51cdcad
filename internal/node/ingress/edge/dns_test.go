package edge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libdns/rfc2136"
)

func TestDynamicDNS(t *testing.T) {
	const good = "key \"tend.example\" { algorithm hmac-sha512; secret \"AA//BB==\"; };"
	for name, test := range map[string]struct {
		server, text, fault string
		want                rfc2136.Provider
	}{
		"one line": {"192.0.2.53", good, "",
			rfc2136.Provider{KeyName: "tend.example", KeyAlg: "hmac-sha512", Key: "AA//BB==", Server: "192.0.2.53:53"}},
		"with a port": {"ns.example:5353",
			"// mine\n# key \"other\" {\nkey tend {\n algorithm \"hmac-sha256\";\n secret AAAA;\n};", "",
			rfc2136.Provider{KeyName: "tend", KeyAlg: "hmac-sha256", Key: "AAAA", Server: "ns.example:5353"}},
		"IPv6": {"2001:db8::53", good, "",
			rfc2136.Provider{KeyName: "tend.example", KeyAlg: "hmac-sha512", Key: "AA//BB==", Server: "[2001:db8::53]:53"}},
		"no secret":    {"ns", "key tend { algorithm hmac-sha256; };", "tsig-keygen", rfc2136.Provider{}},
		"not base64":   {"ns", "key tend { algorithm hmac-sha256; secret \"AAA\"; };", "not base64", rfc2136.Provider{}},
		"another file": {"ns", "TOKEN=1", "tsig-keygen", rfc2136.Provider{}},
	} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := DynamicDNS(test.server, path)
		switch {
		case test.fault != "":
			if err == nil || !strings.Contains(err.Error(), test.fault) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case *got.(*rfc2136.Provider) != test.want:
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := DynamicDNS("ns", filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that isn't there")
	}
}
