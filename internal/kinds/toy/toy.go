// Package toy is the smallest kind: a folder, and a line in the table of kinds. Tests add it to see that nothing else
// is needed, and a new kind may begin as a copy of it.
package toy

import (
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
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
	next.Repeated = strings.Repeat(spec.Text, max(spec.Times, 1))
	next.Conditions = api.SetCondition(next.Conditions, ready, o.Now)
	return next
}
