package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"

	"github.com/distribution/reference"

	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/node/runtime"
)

// pullFault classifies the error of a pull that failed on a machine. field names the image: a manifest's field, or
// an instruction of a Dockerfile.
func pullFault(place, field string, image reference.Named, err error) error {
	operation := "pull image " + reference.FamiliarString(image)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", operation, err)
	}
	if unavailable(err) {
		return faultAt(place, operation, err)
	}
	text := engineText(err)
	if containsAll(text, []string{"no space left on device"}) {
		return runtime.DiskFull(place, operation)
	}
	registry := reference.Domain(image)
	name := reference.FamiliarString(image)
	words := strings.NewReplacer("{node}", place, "{field}", field, "{registry}", registry,
		"{itself}", itself(place, registry), "{image}", name, "{name}", strings.TrimPrefix(name, registry+"/"))
	for _, row := range pullFaults {
		if !containsAll(text, row.words) {
			continue
		}
		detail, next := sentence(words.Replace(row.say), row.find, text), words.Replace(row.next)
		if row.transient {
			return &runtime.TransientError{Reason: row.reason, Detail: detail, Next: next}
		}
		return &runtime.RejectedError{Reason: row.reason, Detail: detail, Next: next}
	}
	return &runtime.TransientError{Reason: "PullFailed", Detail: words.Replace("{node} can't pull {image}: ") + text,
		Next: words.Replace("Tend retries; if it stays, try docker pull {image} on {node}")}
}

// itself says that a registry's address is the machine that pulls, which is not the one where the manifest was written.
func itself(place, registry string) string {
	host := registry
	if name, _, err := net.SplitHostPort(registry); err == nil {
		host = name
	}
	if address, err := netip.ParseAddr(host); host == "localhost" || err == nil && address.IsLoopback() {
		return " (" + place + " itself)"
	}
	return ""
}

// Patterns that find the cause in the engine's message.
var (
	platformIn    = pattern.Lazy(`manifest for (\S+)`)
	certificateIn = pattern.Lazy(`x509: (.+)$`)
	statusIn      = pattern.Lazy(`[sS]tatus: (5\d\d)`)
)

const (
	badLogin      = "{registry} lets {node} pull {image} only with a valid login"
	checkLogin    = "correct the registry applied for {registry}, or docker login there on {node}"
	noSuchImage   = "{registry} has no image {name}"
	noImageStep   = "correct `{field}`, or push it; then apply again"
	brokenPull    = "the connection to {registry} broke while {node} pulled {image}"
	againOrPath   = "Tend retries; if it stays, check the network between {node} and {registry}"
	unanswered    = "{node} can't pull {image}: {registry} doesn't answer"
	reachRegistry = "let {node} reach {registry} (firewall, proxy); Tend retries"
)

// pullFaults are the engine's messages for failures between it and a registry, the specific before the general. In say
// and next, {node}, {field}, {registry} and {image} stand for what they name, {name} for the image's name in its
// registry, and {itself} for a remark where the registry is the node.
var pullFaults = []struct {
	words     []string
	reason    string
	transient bool
	say, next string
	find      func() *regexp.Regexp // what it finds replaces a %s in say
}{
	{words: []string{"manifest unknown"}, reason: "ImageNotFound", say: noSuchImage, next: noImageStep},
	{words: []string{"no matching manifest"}, reason: "WrongPlatform",
		say:  "{image} has no version for the platform of {node}: %s",
		next: "push one for that platform, or correct `{field}`; then apply again", find: platformIn},
	{words: []string{"name unknown"}, reason: "ImageNotFound", say: noSuchImage, next: noImageStep},
	{words: []string{"no basic auth credentials"}, reason: "Unauthorized",
		say:  "{registry} lets {node} pull {image} only with a login, and it has none",
		next: "apply a registry for {registry}, or docker login there on {node}"},
	{words: []string{"pull access denied"}, reason: "Unauthorized", say: "{registry} has no public image {name}",
		next: "correct `{field}`; if it is private, apply a registry for {registry}, or docker login there on {node}"},
	{words: []string{"unauthorized"}, reason: "Unauthorized", say: badLogin, next: checkLogin},
	{words: []string{"authentication required"}, reason: "Unauthorized", say: badLogin, next: checkLogin},
	{words: []string{"incorrect username or password"}, reason: "Unauthorized", say: badLogin, next: checkLogin},
	{words: []string{"denied"}, reason: "Unauthorized", say: "the account of {node} at {registry} may not pull {image}",
		next: "give the account for {registry} that right, or apply a registry for {registry} with another account"},
	{words: []string{"not found"}, reason: "ImageNotFound", say: noSuchImage, next: noImageStep},
	{words: []string{"http response to https client"}, reason: "InsecureRegistry",
		say:  "{registry} speaks plain HTTP, and the engine of {node} wants HTTPS",
		next: "give {registry} a certificate, or list it in that engine's insecure-registries"},
	{words: []string{"x509", "expired"}, reason: "UntrustedRegistry",
		say: "{node} doesn't trust the certificate of {registry}: %s", next: "renew the certificate of {registry}",
		find: certificateIn},
	{words: []string{"x509"}, reason: "UntrustedRegistry", say: "{node} doesn't trust the certificate of {registry}: %s",
		next: "install the certificate authority of {registry} on {node}", find: certificateIn},
	{words: []string{"toomanyrequests"}, reason: "RateLimited", transient: true,
		say:  "{registry} limits how often {node} may pull",
		next: "Tend retries; an account at {registry} may have a higher limit"},
	{words: []string{"verification failed"}, reason: "BrokenImage", transient: true,
		say:  "what {registry} sends for {image} doesn't match its digest",
		next: "Tend retries; if it stays, push the image to {registry} again"},
	{words: []string{"unexpected eof"}, reason: "PullInterrupted", transient: true, say: brokenPull, next: againOrPath},
	{words: []string{"connection reset"}, reason: "PullInterrupted", transient: true, say: brokenPull, next: againOrPath},
	{words: []string{"connection refused"}, reason: "RegistryUnreachable", transient: true,
		say:  "{node} can't pull {image}: {registry}{itself} refuses connections",
		next: "start the registry there, or correct `{field}`; Tend retries"},
	{words: []string{"no such host"}, reason: "RegistryUnreachable", transient: true,
		say:  "{node} can't pull {image}: its DNS knows no host {registry}",
		next: "correct `{field}`, or the DNS of {node}; Tend retries"},
	{words: []string{"dial tcp"}, reason: "RegistryUnreachable", transient: true, say: unanswered, next: reachRegistry},
	{words: []string{"timeout"}, reason: "RegistryUnreachable", transient: true, say: unanswered, next: reachRegistry},
	{words: []string{"awaiting headers"}, reason: "RegistryUnreachable", transient: true, say: unanswered,
		next: reachRegistry},
	{words: []string{"received unexpected http status: 5"}, reason: "RegistryFailed", transient: true,
		say:  "{node} can't pull {image}: {registry} fails with HTTP status %s",
		next: "read the log of {registry}; Tend retries", find: statusIn},
}
