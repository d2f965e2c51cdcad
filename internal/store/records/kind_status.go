package records

import (
	"reflect"

	"tend.dev/tend/api"
)

// KindStatus is a copy of the status of an object, for what is the same for every kind that has conditions.
type KindStatus struct{ value, conditions reflect.Value }

// StatusOf returns a copy of a status of the kind, or of a pointer to one; an empty status if it is nil. known is false
// for a kind whose status has no conditions.
func StatusOf(kind api.Kind, status any) (out KindStatus, known bool) {
	of := kind.Info().Status
	if of == nil {
		return out, false
	}
	out.value = reflect.New(of).Elem()
	out.conditions = out.value.FieldByName("Conditions")
	if !out.conditions.IsValid() || out.conditions.Type() != reflect.TypeFor[[]api.Condition]() {
		return out, false
	}
	switch was := reflect.Indirect(reflect.ValueOf(status)); {
	case status == nil || !was.IsValid():
	case was.Type() != of:
		return out, false
	default:
		out.value.Set(was)
	}
	return out, true
}

// Value returns the status itself.
func (s KindStatus) Value() any { return s.value.Interface() }

// Conditions returns its conditions.
func (s KindStatus) Conditions() []api.Condition { return s.conditions.Interface().([]api.Condition) }

// SetConditions replaces its conditions.
func (s KindStatus) SetConditions(next []api.Condition) { s.conditions.Set(reflect.ValueOf(next)) }

// Observe notes that the status is about the object as it was read.
func (s KindStatus) Observe(object Read[api.Object]) {
	for name, value := range map[string]any{
		"ObservedGeneration": object.Value.Metadata.Generation, "ObservedRevision": object.Modified,
	} {
		if field := s.value.FieldByName(name); field.IsValid() && field.Type() == reflect.TypeOf(value) {
			field.Set(reflect.ValueOf(value))
		}
	}
}
