package api

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxWebhooks bounds the targets of one list.
const maxWebhooks = 20

// hooks checks what surrounds a rollout.
func (c *checker) hooks(s DeploymentSpec) {
	c.dependsOn(s.DependsOn)
	if s.Release != nil {
		c.release(*s.Release)
	}
	c.each("post_deploy", s.PostDeploy, func(entry string) error {
		if strings.TrimSpace(entry) == "" || strings.Contains(entry, "\x00") {
			return errors.New("is not a command")
		}
		return nil
	})
	for _, list := range slices.Sorted(maps.Keys(s.webhooks())) {
		c.webhooks(list, s.webhooks()[list])
	}
}

func (c *checker) dependsOn(d *DependsOn) {
	if d == nil {
		return
	}
	c.each("depends_on.assets", d.Assets, func(entry string) error {
		if n := strings.Count(entry, "."); n < 1 || n > 2 || strings.Contains("."+entry+".", "..") {
			return fmt.Errorf("%q is not name.key or scope.name.key", entry)
		}
		return nil
	})
	c.each("depends_on.workloads", d.Workloads, func(entry string) error {
		_, err := ParseDependency(entry, "any")
		return err
	})
}

func (c *checker) release(r ReleaseHooks) {
	c.duration("release.timeout", r.Timeout, time.Second, maxWait)
	if len(r.PreCommand)+len(r.Command)+len(r.PostCommand) == 0 {
		c.add("release", "names no command; write pre_command, command or post_command")
	}
	c.argv("release.pre_command", r.PreCommand)
	c.argv("release.command", r.Command)
	c.argv("release.post_command", r.PostCommand)
}

func (c *checker) webhooks(field string, hooks []Webhook) {
	if len(hooks) > maxWebhooks {
		c.add(field, "has %d targets, at most %d", len(hooks), maxWebhooks)
	}
	for i, hook := range hooks {
		at := index(field, i)
		c.webhookURL(at+".url", hook.URL)
		c.oneOf(at+".method", hook.Method, "POST", "PUT", "PATCH", "DELETE")
		if len(hook.Body) > 0 && hook.File != "" {
			c.add(at+".file", "and body exclude each other")
		}
		if hook.File != "" && !(strings.HasPrefix(hook.File, "${asset.") && strings.HasSuffix(hook.File, "}")) {
			c.add(at+".file", "names no asset; write ${asset.name.key}")
		}
		for _, name := range slices.Sorted(maps.Keys(hook.Headers)) {
			if !headerName(name) || strings.ContainsAny(hook.Headers[name], "\r\n\x00") {
				c.add(key(at+".headers", name), "is not a header")
			}
		}
	}
}

// webhookURL never repeats the address: it may hold a secret.
func (c *checker) webhookURL(field, address string) {
	references := References(address)
	whole := len(references) > 0 && references[0].Start == 0 && !references[0].Escaped
	for _, reference := range slices.Backward(references) {
		address = address[:reference.Start] + "1" + address[reference.End:] // fits a host, a port and a path
	}
	if whole { // what it begins with is known when the call is made
		return
	}
	parsed, err := url.Parse(address)
	switch {
	case err != nil:
		c.add(field, "is not an address")
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		c.add(field, "does not begin with http:// or https://")
	case parsed.Hostname() == "":
		c.add(field, "names no host")
	}
}

// headerName reports whether text may name a header (RFC 9110, a token).
func headerName(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}
