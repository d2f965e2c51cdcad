package hosts

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Certifiable reports whether public authorities certify a name: shop.org, and not shop.localhost, shop.internal or an
// address.
func Certifiable(host string) bool {
	host = strings.TrimPrefix(strings.ToLower(host), "*.")
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return false
	}
	suffix, managed := publicsuffix.PublicSuffix(host)
	return managed || strings.Contains(suffix, ".") // one that a company manages is below a public one
}
