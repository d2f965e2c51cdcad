package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api/pattern"
)

// Limits of one object. What exceeds them is refused.
const (
	// MaxNameBytes bounds a scope and a name: each is a DNS label.
	MaxNameBytes = 63
	// MaxAppIDBytes bounds <scope>-<name>, so that a container's name, with its slot, still fits a host name (63).
	MaxAppIDBytes = 54
	// MaxSpecBytes bounds a spec.
	MaxSpecBytes = 1 << 20
	// MaxListEntries bounds each list in a spec, and MaxPublishedPorts the ports that `ports`, or the -p flags, publish
	// together: a range counts with its length.
	MaxListEntries    = 1000
	MaxPublishedPorts = 4096
	// MaxReplicas bounds replicas.
	MaxReplicas = 10000
)

// ValidateObject says everything that is wrong with an object, in the order of its fields. It checks the object alone:
// what depends on other objects is the server's to check, and docker_options are internal/core/dockerflags'.
func ValidateObject(o Object) []FieldError {
	c := &checker{object: o.Ref().String()}
	if o.Scope != Unscoped || o.Kind.Info().Scope == ScopeRequired {
		c.name("scope", o.Scope)
	}
	c.name("name", o.Name)
	if only := o.Kind.Info().Only; only != "" && o.Name != only {
		c.add("name", "there is one %s, and it is called %s", o.Kind, only)
	}
	if len(c.errors) == 0 && !o.Kind.Delivered() && len(o.Ref().AppID()) > MaxAppIDBytes {
		c.add("name", "scope and name together are longer than %d characters, so containers could not be named after them",
			MaxAppIDBytes-1)
	}
	if len(o.Spec) > MaxSpecBytes {
		c.add("spec", "is larger than %d bytes", MaxSpecBytes)
		return c.errors
	}
	if field := longList(o.Spec); field != "" {
		c.add(field, "has more than %d entries: split it among several objects, or leave out what is not needed",
			MaxListEntries)
		return c.errors
	}
	c.spec(o)
	c.inScope(o)
	c.references(o)
	return c.errors
}

// spec checks an object's spec by its kind.
func (c *checker) spec(o Object) {
	info := o.Kind.Info()
	switch {
	case len(info.StandsFor) > 0:
		c.add("kind", "an %s is not stored itself: send the %s that it stands for", o.Kind, andList(info.StandsFor))
	case info.Spec == nil:
		c.add("kind", "kind %q is not supported yet", o.Kind)
	default:
		info.check(c, o.Spec)
	}
}

// validate reads a spec strictly and checks what was read.
func validate[T any](c *checker, raw json.RawMessage, check func(T)) {
	spec, err := DecodeStrict[T](raw)
	if err != nil {
		c.addError("", err)
		return
	}
	check(spec)
}

var dnsLabel = pattern.Lazy(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

func (c *checker) name(field, text string) {
	switch {
	case text == "":
		c.add(field, "is required")
	case len(text) > MaxNameBytes:
		c.add(field, "is longer than %d characters", MaxNameBytes)
	case !dnsLabel().MatchString(text):
		c.add(field, "%q is not a name: want a-z, 0-9 and dashes, with a letter or digit at both ends", text)
	}
}

// checker collects what is wrong with one object.
type checker struct {
	object string
	errors []FieldError
	// targets are the fields that mount something, by the path it is mounted at.
	targets map[string]string
}

func (c *checker) add(field, format string, args ...any) {
	c.errors = append(c.errors, FieldError{Object: c.object, Field: field, Detail: fmt.Sprintf(format, args...)})
}

// addError adds err, if there is one, to what is wrong; an error that names its own field keeps it.
func (c *checker) addError(field string, err error) {
	if err == nil {
		return
	}
	if inner, ok := err.(FieldError); ok { //nolint:errorlint // a wrapped one says more than its detail
		c.add(inner.Field, "%s", inner.Detail)
		return
	}
	c.add(field, "%s", err.Error())
}

// each checks every entry of a list under its own index.
func (c *checker) each(field string, entries []string, check func(entry string) error) {
	for i, entry := range entries {
		c.addError(index(field, i), check(entry))
	}
}

// oneOf checks that a value is empty or allowed.
func (c *checker) oneOf(field, value string, allowed ...string) {
	if value == "" {
		return
	}
	if slices.Contains(allowed, value) {
		return
	}
	c.add(field, "%q is not %s", value, orList(allowed))
}

// between checks a number.
func (c *checker) between(field string, n, low, high int) {
	if n < low || n > high {
		c.add(field, "%d is outside %d to %d", n, low, high)
	}
}

func index(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// key is the path of a map's entry; a key that isn't a plain word is quoted.
func key(field, name string) string {
	if plainKey().MatchString(name) {
		return field + "." + name
	}
	return fmt.Sprintf("%s[%q]", field, name)
}

var plainKey = pattern.Lazy(`^[A-Za-z0-9_-]+$`)

func andList(kinds []Kind) string {
	words := make([]string, len(kinds))
	for i, kind := range kinds {
		words[i] = string(kind)
	}
	return strings.Join(words, " and ")
}

func orList(words []string) string {
	text := ""
	for i, word := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			text += " or "
		default:
			text += ", "
		}
		text += word
	}
	return text
}
