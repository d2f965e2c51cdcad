package api

func (c *checker) autoscale(a *Autoscale) {
	if a == nil {
		return
	}
	c.between("autoscale.min", a.Min, 1, MaxReplicas)
	c.between("autoscale.max", a.Max, max(a.Min, 1), MaxReplicas)
	c.between("autoscale.cpu_target", a.CPUTarget, 1, 100)
	c.duration("autoscale.cooldown_up", a.CooldownUp, 0, maxWait)
	c.duration("autoscale.cooldown_down", a.CooldownDown, 0, maxWait)
}

// CheckDeclared returns what is wrong with an object as one manager declares it, beside ValidateObject: what the stored
// object may hold because several managers set it, and one alone may not.
func CheckDeclared(o Object) []FieldError {
	if o.Kind != KindDeployment {
		return nil
	}
	spec, err := DecodeSpec[DeploymentSpec](o)
	if err != nil || spec.Autoscale == nil || spec.Replicas == nil {
		return nil
	}
	return []FieldError{{Object: o.Ref().String(), Field: "replicas",
		Detail: "and autoscale exclude each other: autoscale chooses the number between its min and max"}}
}
