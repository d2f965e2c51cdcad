package verb

import (
	"reflect"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/access"
)

// Verb is something that people ask of an object.
type Verb struct {
	// Name is the last part of its path. No other verb has it, whatever its kind.
	Name string
	// Summary describes it in the API's description.
	Summary string
	// Rule says who may ask for it.
	Rule access.Rule
	// Kind is the only kind with the verb. Default: several kinds have it, and its implementation refuses the others.
	Kind api.Kind
	// Commands lists the commands that only call it and print its result. Default: none.
	Commands []Command
	// In is the type of its input, a struct whose fields are parameters. Out is the type of its answer. Of sets both.
	In, Out reflect.Type
}

// Of returns a verb with the types of its input and of its answer.
func Of[In, Out any](v Verb) Verb {
	v.In, v.Out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	return v
}

// Path returns the pattern of a verb in the API's mux.
func (v Verb) Path() string { return "/v1/objects/{kind}/{scope}/{name}/" + v.Name }
