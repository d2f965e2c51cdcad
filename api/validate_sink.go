package api

import (
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The bounds of a sink.
const (
	maxSinkPatterns = 50
	maxSinkMails    = 20
)

func (c *checker) sink(s SinkSpec) {
	switch found := s.targets(); {
	case len(found) == 0:
		c.add("", "names no target: write one block of %s", orList(SinkTypes))
	case len(found) > 1:
		c.add(found[1], "and %s exclude each other: make two sinks of them", found[0])
	}
	c.duration("retry_for", s.RetryFor, time.Second, 24*time.Hour)
	c.sinkFilter(s)
	switch {
	case s.HTTP != nil:
		c.sinkHTTP(*s.HTTP)
	case s.Mail != nil:
		c.sinkMail(*s.Mail)
	case s.Slack != nil:
		c.fromConfig("slack.url", s.Slack.URL, true)
	case s.Ntfy != nil:
		c.sinkNtfy(*s.Ntfy)
	case s.Shoutrrr != nil:
		c.fromConfig("shoutrrr.url", s.Shoutrrr.URL, true)
	}
	if s.Message != nil && !s.People() {
		c.add("message", "is for mail, slack, ntfy and shoutrrr: an event is sent as it is")
	} else if s.Message != nil {
		c.sinkMessage(*s.Message)
	}
}

func (c *checker) sinkFilter(s SinkSpec) {
	if s.Filter == nil {
		return
	}
	f := *s.Filter
	if s.People() && len(f.Types) > 0 {
		c.add("filter.types", "is for http and stdout: people are sent failures alone; choose with kinds, scopes and names")
	}
	for i, list := range [][]string{f.Types, f.Kinds, f.Scopes, f.Names} {
		field := "filter." + []string{"types", "kinds", "scopes", "names"}[i]
		if len(list) > maxSinkPatterns {
			c.add(field, "has %d patterns, at most %d", len(list), maxSinkPatterns)
		}
		c.each(field, list, func(pattern string) error {
			if pattern == "" || len(pattern) > 2*MaxNameBytes || strings.ContainsAny(pattern, " \t\r\n\x00") {
				return fmt.Errorf("%q is not a pattern: write a name, with * for any text", pattern)
			}
			switch field {
			case "filter.kinds":
				return fitsKind(pattern)
			case "filter.types":
				return fitsType(pattern)
			}
			return nil
		})
	}
}

// storedKinds are the kinds that events are about.
func storedKinds() (out []string) {
	for _, kind := range KindsThat(Kind.Stored) {
		out = append(out, string(kind))
	}
	return out
}

// eventTypes are the types of all events; those of labs by either name.
func eventTypes() (out []string) {
	for _, kind := range KindsThat(Kind.Stored) {
		for _, action := range EventActions {
			out = append(out, string(kind)+"."+string(action))
			if name := EventType(kind, action); name != out[len(out)-1] {
				out = append(out, name)
			}
		}
	}
	return out
}

// fitsKind and fitsType refuse a pattern that nothing can fit.
func fitsKind(pattern string) error {
	if known := storedKinds(); !fitsOne(pattern, known) {
		return fmt.Errorf("%q is not a kind: write one of %s, with * for any text", pattern, strings.Join(known, ", "))
	}
	return nil
}

func fitsType(pattern string) error {
	if fitsOne(pattern, eventTypes()) {
		return nil
	}
	actions := make([]string, len(EventActions))
	for i, action := range EventActions {
		actions[i] = string(action)
	}
	return fmt.Errorf("%q is not a type of events: write KIND.ACTION or *.ACTION with a kind of %s and an action of %s",
		pattern,
		strings.Join(storedKinds(), ", "), strings.Join(actions, ", "))
}

func fitsOne(pattern string, known []string) bool {
	return slices.ContainsFunc(known, func(text string) bool { return FitsPattern(pattern, text) })
}

// FitsPattern reports whether a text is as a pattern says, in which * is any text. Its time grows with the length of
// both alone.
func FitsPattern(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, rest, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = rest
	}
	return strings.HasSuffix(text, parts[last])
}

func (c *checker) sinkHTTP(s SinkHTTP) {
	c.sinkURL("http.url", s.URL)
	c.duration("http.timeout", s.Timeout, 100*time.Millisecond, time.Minute)
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		at := key("http.headers", name)
		lower := strings.ToLower(name)
		switch {
		case !headerName(name) || strings.ContainsAny(s.Headers[name], "\r\n\x00"):
			c.add(at, "is not a header")
		case lower == "content-type" || strings.HasPrefix(lower, "webhook-"):
			c.add(at, "is set by the sink itself")
		case isSecretName(name):
			c.fromConfig(at, s.Headers[name], true)
		}
	}
	if len(s.Secrets) > 2 {
		c.add("http.secrets", "has %d, at most two: the one in use, and the next one", len(s.Secrets))
	}
	c.each("http.secrets", s.Secrets, func(secret string) error { return wantConfig(secret, true) })
}

// sinkURL checks an address. What may be a secret of it must be a config value.
func (c *checker) sinkURL(field, address string) {
	before := len(c.errors)
	c.webhookURL(field, address)
	if len(c.errors) > before || len(References(address)) > 0 {
		return
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return
	}
	secret := parsed.User != nil
	for name := range parsed.Query() {
		secret = secret || isSecretName(name)
	}
	if secret {
		c.addError(field, wantConfig(address, true))
	}
}

func (c *checker) sinkMail(s SinkMail) {
	if s.Host == "" || strings.ContainsAny(s.Host, " /:@\r\n\x00") {
		c.add("mail.host", "%q is not a host such as mail.example.org", s.Host)
	}
	c.between("mail.port", s.Port, 0, 65535)
	c.oneOf("mail.tls", s.TLS, MailStartTLS, MailTLS, MailPlain)
	if (s.User == "") != (s.Password == "") {
		c.add("mail.user", "and password belong together")
	}
	c.fromConfig("mail.password", s.Password, false)
	if s.TLS == MailPlain && s.Password != "" && s.Host != "localhost" && s.Host != "127.0.0.1" {
		c.add("mail.tls", "would send the password in the clear: use starttls or tls")
	}
	c.addError("mail.from", mailAddress(s.From))
	if len(s.To) == 0 || len(s.To) > maxSinkMails {
		c.add("mail.to", "has %d addresses: 1 to %d", len(s.To), maxSinkMails)
	}
	c.each("mail.to", s.To, mailAddress)
}

func mailAddress(text string) error {
	if _, err := mail.ParseAddress(text); err != nil {
		return fmt.Errorf("%q is not a mail address such as ops@example.org", text)
	}
	return nil
}

func (c *checker) sinkNtfy(s SinkNtfy) {
	if s.URL != "" {
		c.sinkURL("ntfy.url", s.URL)
	}
	if len(References(s.Topic)) == 0 && (s.Topic == "" || len(s.Topic) > MaxNameBytes || !plainKey().MatchString(s.Topic)) {
		c.add("ntfy.topic", "%q may hold letters, digits, - and _", s.Topic)
	}
	c.fromConfig("ntfy.token", s.Token, false)
	c.between("ntfy.priority", s.Priority, 0, 5)
}

func (c *checker) sinkMessage(m SinkMessage) {
	_, err := ParseSinkTemplate(m.Subject)
	c.addError("message.subject", err)
	_, err = ParseSinkTemplate(m.Template)
	c.addError("message.template", err)
	if strings.ContainsAny(m.Subject, "\r\n") {
		c.add("message.subject", "is one line")
	}
	c.duration("message.gather", m.Gather, 0, time.Hour)
	c.duration("message.pause", m.Pause, 0, time.Hour)
	c.duration("message.quiet", m.Quiet, 0, 7*24*time.Hour)
	c.duration("message.repeat", m.Repeat, time.Minute, 31*24*time.Hour)
}

// fromConfig refuses a secret that stands in the manifest itself.
func (c *checker) fromConfig(field, text string, required bool) {
	c.addError(field, wantConfig(text, required))
}

func wantConfig(text string, required bool) error {
	if text == "" && !required {
		return nil
	}
	for _, r := range References(text) {
		if r.Space == SpaceConfig && !r.Escaped {
			return nil
		}
	}
	return errors.New("is a secret, which a manifest would show: write ${config.SCOPE.NAME.KEY}, and tend config set SCOPE/NAME KEY=…")
}

// isSecretName reports whether the value of a header or a parameter of a name is likely a secret.
func isSecretName(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "token", "secret", "password", "cookie", "key", "signature"},
		func(word string) bool {
			return strings.Contains(lower, word)
		})
}
