package api

import (
	"tend.dev/tend/api/pattern"
)

var macroKind = pattern.Lazy(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// Macro reports whether the kind is one a plugin may have: no core kind, and written like a plugin's name.
func (k Kind) Macro() bool { return !k.Core() && macroKind().MatchString(string(k)) }

// ValidateMacro says everything that is wrong with a macro by itself. What its plugin makes of it is the plugin's to
// say.
func ValidateMacro(o Object) []FieldError {
	c := &checker{object: o.Ref().String()}
	if !o.Kind.Macro() {
		c.add("kind", "%q is neither a kind nor the name of a plugin", string(o.Kind))
	}
	if o.Scope != "" {
		c.name("scope", o.Scope)
	}
	c.name("name", o.Name)
	if len(o.Spec) > MaxSpecBytes {
		c.add("spec", "is larger than %d bytes", MaxSpecBytes)
	}
	return c.errors
}
