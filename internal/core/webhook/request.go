package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/reference"
)

// Request is one call to make.
type Request struct {
	Method string
	URL    string
	// Header is set in this order: of two with the same name the later counts.
	Header []Field
	Body   []byte
	// Confined: the receiver may not be on the caller's own machine or link.
	Confined bool
	// secretHost is set if the host of the address is a secret too.
	secretHost bool
}

// Field is a header.
type Field struct{ Name, Value string }

// Host returns the host of the address.
func (r Request) Host() string {
	parsed, err := url.Parse(r.URL)
	if err != nil {
		return "?"
	}
	return parsed.Host
}

// Receiver returns what may be shown of the address: the host, unless a secret determines it.
func (r Request) Receiver() string {
	if r.secretHost {
		return "the receiver"
	}
	return r.Host()
}

// Blot removes from a text what may not be shown of the address.
func (r Request) Blot(text string) string {
	parsed, err := url.Parse(r.URL)
	if !r.secretHost || err != nil || parsed.Hostname() == "" {
		return text
	}
	return strings.NewReplacer(parsed.Host, r.Receiver(), parsed.Hostname(), r.Receiver()).Replace(text)
}

// Call holds what a request is built from.
type Call struct {
	Hook     api.Webhook
	Delivery api.Delivery
	// File is the content of the hook's file; nil if it names none.
	File []byte
	// Key identifies the delivery to its receiver, the same for every attempt.
	Key string
	// Confined is the request's.
	Confined bool
	// Agent is the User-Agent.
	Agent string
	// Spaces resolve the references of the hook. The errors of Request contain none of their values.
	Spaces reference.Spaces
}

// Host returns the host of the address; empty if no request can be built.
func (c Call) Host() string {
	address, err := c.address()
	if err != nil {
		return ""
	}
	return Request{URL: address}.Host()
}

// Request builds the request.
func (c Call) Request() (Request, error) {
	r := Request{Method: c.Hook.Method, Confined: c.Confined, Header: []Field{{"Content-Type", "application/json"}}}
	r.Method = cmp.Or(r.Method, "POST")
	var faults [3]error
	r.URL, faults[0] = c.address()
	r.secretHost = secretHost(c.Hook.URL)
	for _, name := range slices.Sorted(maps.Keys(c.Hook.Headers)) {
		value, err := c.header(name)
		r.Header = append(r.Header, Field{name, value})
		faults[1] = errors.Join(faults[1], err)
	}
	r.Header = append(r.Header, Field{"User-Agent", c.Agent}, Field{"Idempotency-Key", c.Key})
	r.Body, faults[2] = c.body()
	if err := errors.Join(faults[:]...); err != nil {
		return Request{}, err
	}
	return r, nil
}

var (
	errNoAddress = errors.New("url is not an address that begins with http:// or https:// once its references are replaced; set their values again")
	errNoHeader  = errors.New("what its references stand for holds a line end; set the value without")
)

func (c Call) address() (string, error) {
	address, err := reference.Expand(c.Hook.URL, c.Spaces)
	if err != nil {
		return "", fmt.Errorf("url: %w", err)
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return "", errNoAddress
	}
	return address, nil
}

func (c Call) header(name string) (string, error) {
	value, err := reference.Expand(c.Hook.Headers[name], c.Spaces)
	if err == nil && strings.ContainsAny(value, "\r\n\x00") {
		err = errNoHeader
	}
	if err != nil {
		return "", fmt.Errorf("headers.%s: %w", name, err)
	}
	return value, nil
}

// secretHost reports whether a config value determines the host of an address.
func secretHost(address string) bool {
	for _, r := range reference.Find(address) {
		if r.Space != api.SpaceConfig {
			continue
		}
		if _, path, found := strings.Cut(address[:r.Start], "://"); !found || !strings.ContainsAny(path, "/?#") {
			return true
		}
	}
	return false
}
