package api

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
)

var hostName = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?)*$`)

// CheckExtraHost checks name:ip, where ip is an address or the word host-gateway.
func CheckExtraHost(entry string) error {
	name, address, found := strings.Cut(entry, ":")
	if !found {
		return fmt.Errorf("%q is not name:ip", entry)
	}
	if len(name) > 253 || !hostName.MatchString(name) {
		return fmt.Errorf("%q is not a host name", name)
	}
	if address == "host-gateway" {
		return nil
	}
	if _, err := netip.ParseAddr(strings.Trim(address, "[]")); err != nil {
		return fmt.Errorf("%q is not an IP address (or host-gateway)", address)
	}
	return nil
}
