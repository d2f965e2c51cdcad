package sink

import (
	"net/url"

	"tend.dev/tend/api"
)

// Receiver returns what may be shown of a sink's address without its secrets; empty where a secret says all of it.
func Receiver(s api.SinkSpec) string {
	switch {
	case s.HTTP != nil:
		return shownHost(s.HTTP.URL)
	case s.Mail != nil:
		return s.Mail.Host
	case s.Ntfy != nil && s.Ntfy.URL == "":
		return shownHost(ntfyServer)
	case s.Ntfy != nil:
		return shownHost(s.Ntfy.URL)
	}
	return ""
}

// shownHost returns the host of an address, unless a reference is part of it.
func shownHost(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || len(api.References(parsed.Host)) > 0 || len(api.References(address)) > 0 && parsed.Host == "" {
		return ""
	}
	return parsed.Host
}
