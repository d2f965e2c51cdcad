package outcome

import "tend.dev/tend/api"

// Unmet returns the condition that says why an object isn't as declared now: Degraded, else what it waits for, else
// Ready. It returns nil if the object is ready, or has no conditions.
func Unmet(object api.Object) (*api.Condition, error) {
	status, err := api.DecodeStatus[api.WorkloadStatus](object)
	if err != nil {
		return nil, err
	}
	c := conditionsOf(status)
	switch {
	case holds(c.degraded):
		return &c.degraded, nil
	case c.ready.Type == "" || holds(c.ready):
		return nil, nil
	case c.under() && c.progressing.Message != "":
		return &c.progressing, nil
	}
	return &c.ready, nil
}
