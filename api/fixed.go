package api

import "encoding/json"

// CheckFixed returns the fields that a change of an object sets to another value although they are fixed. phase is the
// object's.
func CheckFixed(old, next Object, phase string) []FieldError {
	fixed := old.Kind.Info().fixed
	if fixed == nil || old.Kind != next.Kind {
		return nil
	}
	c := &checker{object: next.Ref().String()}
	fixed(c, old.Spec, next.Spec, phase)
	return c.errors
}

// fixedFields checks that texts stay as they were.
func (c *checker) fixedFields(fields map[string][2]string, order ...string) {
	for _, field := range order {
		if pair := fields[field]; pair[0] != pair[1] {
			c.add(field, "can't be changed from %q to %q: delete the object, and apply it again", pair[0], pair[1])
		}
	}
}

func (c *checker) fixedInstance(old, next json.RawMessage, _ string) {
	before, errOld := DecodeStrict[ApplicationInstanceSpec](old)
	after, errNext := DecodeStrict[ApplicationInstanceSpec](next)
	if errOld != nil || errNext != nil {
		return // what can't be read is refused for that
	}
	c.fixedFields(map[string][2]string{"cluster": {before.Cluster, after.Cluster}}, "cluster")
	if before.Release == nil {
		return
	}
	if after.Release == nil {
		c.add("mode", "a release can't become a placeholder: delete the object, and apply it again")
		return
	}
	c.fixedFields(map[string][2]string{"release.name": {before.Release.Name, after.Release.Name}}, "release.name")
}

func (c *checker) fixedOperation(old, next json.RawMessage, phase string) {
	before, errOld := DecodeStrict[OperationSpec](old)
	after, errNext := DecodeStrict[OperationSpec](next)
	if errOld != nil || errNext != nil {
		return
	}
	c.fixedFields(map[string][2]string{
		"cluster": {before.Cluster, after.Cluster}, "targetRef.name": {before.TargetRef.Name, after.TargetRef.Name},
		"type": {before.Type, after.Type}, "engine": {before.Engine, after.Engine},
	}, "cluster", "targetRef.name", "type", "engine")
	was, _ := json.Marshal(before.Parameters)
	is, _ := json.Marshal(after.Parameters)
	begun := phase == OperationRunning || phase == OperationSucceeded || phase == OperationCancelled ||
		phase == DeliveredFailed
	if begun && string(was) != string(is) {
		c.add("parameters", "can't be changed, because the operation is %s: apply another one", phase)
	}
}
