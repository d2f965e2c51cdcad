// Package toy is the smallest kind: a folder, and a line in the table of kinds. Tests add it to see that nothing else
// is needed, and a new kind may begin as a copy of it.
package toy

import (
	"fmt"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/access"
)

// Spec holds what a user declares.
type Spec struct {
	// Text is repeated Times times.
	Text  string `json:"text" hcl:"text"`
	Times int    `json:"times,omitempty" hcl:"times,optional"`
}

// Status holds what the controller answers.
type Status struct {
	ObservedGeneration int64           `json:"observedGeneration,omitempty"`
	ObservedRevision   int64           `json:"observedRevision,omitempty"`
	Repeated           string          `json:"repeated,omitempty"`
	Conditions         []api.Condition `json:"conditions,omitempty"`
}

var info = api.RegisterKind(api.KindOf[Spec, Status](api.KindInfo{Kind: "toy", Short: []string{"plaything"}}, check))

// Kind returns the kind that the line names.
func Kind() control.Kind { return control.Kind{KindInfo: info, Step: control.Report(status)} }

// Input holds what is said when a toy is asked to shout.
type Input struct {
	Marks int `query:"marks" flag:"marks" help:"how many exclamation marks (default 1)"`
}

// stampShout has the exclamation marks. It is beside the spec: applying the manifest again leaves it as it is.
const stampShout = "toy/shout"

var _ = verbs.Declare(verb.Verb{
	Name: "shout", Summary: "Have a toy shout", Rule: access.Deployers("toy shout"), Kind: info.Kind,
	Commands: []verb.Command{{
		Use: "SCOPE/NAME", Short: "have a toy shout", Example: "  tend toy shout prod/parrot --marks 3", Waits: true,
		Says: verb.Says(func(ref api.Ref, _ Input, _ api.VerbResult) string { return fmt.Sprintf("%s shouts", ref) }),
	}},
}, verbs.Decided(verbs.Fits{Kind: info.Kind, Not: "is not a toy", Next: "tend get toys"}, "toy.shout", shout))

// shout decides what the verb stores.
func shout(a verbs.Asked[Input]) (*verbs.Decision[api.VerbResult], error) {
	return a.Stamped("toy.shout", func(stamps map[string]string) {
		stamps[stampShout] = strconv.Itoa(max(a.In.Marks, 1))
	}), nil
}

func check(spec Spec) (found []api.FieldError) {
	if spec.Text == "" {
		found = append(found, api.FieldError{Field: "text", Detail: "is required"})
	}
	if spec.Times < 0 {
		found = append(found, api.FieldError{Field: "times", Detail: "is negative"})
	}
	return found
}

func status(o control.Observation, before Status) Status {
	object := o.Object
	next := Status{
		ObservedGeneration: object.Value.Metadata.Generation, ObservedRevision: object.Modified,
		Conditions: before.Conditions,
	}
	ready := api.Condition{Type: api.ConditionReady, Status: api.ConditionTrue, Reason: "Repeated"}
	spec, err := api.DecodeSpec[Spec](*object.Value)
	if err != nil {
		ready.Status, ready.Reason, ready.Message = api.ConditionFalse, api.ReasonInvalidSpec, err.Error()
	}
	marks, _ := strconv.Atoi(object.Value.Metadata.Stamps[stampShout])
	next.Repeated = strings.Repeat(spec.Text, max(spec.Times, 1)) + strings.Repeat("!", max(marks, 0))
	next.Conditions = api.SetCondition(next.Conditions, ready, o.Now)
	return next
}
