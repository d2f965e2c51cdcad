package ports

import (
	"testing"

	"tend.dev/tend/api"
)

// TestTaken: a listener of every address has each one, and a port of every address takes each listener; two addresses
// go side by side.
func TestTaken(t *testing.T) {
	for name, tc := range map[string]struct {
		address, entry string
		taken          bool
	}{
		"of every address":               {":8690", "127.0.0.1:8690:80", true},
		"of every one of IPv6":           {"[::]:8690", "192.0.2.1:8690:80", true},
		"of one, all are asked for":      {"127.0.0.1:8686", "0.0.0.0:8686:80", true},
		"of the same one":                {"127.0.0.1:8686", "127.0.0.1:8686:80", true},
		"of the same one of IPv6":        {"[::1]:8686", "[::1]:8686:80", true},
		"a mapped one":                   {"[::ffff:127.0.0.1]:8686", "127.0.0.1:8686:80", true},
		"of a name":                      {"localhost:8686", "127.0.0.1:8686:80", true},
		"of a URL":                       {"https://127.0.0.1:2379", "127.0.0.1:2379:80", true},
		"within a range":                 {":8690", "8688-8692:80-84", true},
		"of another one":                 {"127.0.0.1:8686", "192.0.2.1:8686:80", false},
		"another port":                   {":8690", "127.0.0.1:8691:80", false},
		"another protocol":               {":8690", "127.0.0.1:8690:80/udp", false},
		"one that the engine chooses":    {":8690", "80", false},
		"it is off":                      {"off", "127.0.0.1:8690:80", false},
		"no address":                     {"", "127.0.0.1:8690:80", false},
		"a port that the engine chooses": {":0", "0.0.0.0:8690:80", false},
	} {
		own := ListenerAt(tc.address, "for nobody", "--flag")
		_, _, taken := Taken(api.DeploymentSpec{Ports: []string{tc.entry}}, own)
		if taken != tc.taken {
			t.Errorf("%s: %s at %s: taken %v", name, tc.entry, tc.address, taken)
		}
	}
}
