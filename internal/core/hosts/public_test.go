package hosts

import "testing"

func TestCertifiable(t *testing.T) {
	for host, want := range map[string]bool{
		"shop.org": true, "Shop.ORG": true, "*.shop.org": true, "shop.co.uk": true, "shop.github.io": true,
		"shop.localhost": false, "localhost": false, "shop.internal": false, "db.local": false, "shop.test": false,
		"*.lab.localhost": false,
		"10.0.0.1":        false, "::1": false,
	} {
		if got := Certifiable(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}
