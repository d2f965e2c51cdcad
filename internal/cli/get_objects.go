package cli

import (
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
)

func objectListing(objects []api.Object, now time.Time) listing {
	l := listing{
		header:     []string{"OBJECT", "READY", "UPDATED", "RELEASE", "STATE", "AGE"},
		wideHeader: []string{"IMAGE", "GENERATION", "MESSAGE"},
	}
	for _, object := range objects {
		status, _ := api.DecodeStatus[api.WorkloadStatus](object)
		state, message := stateOf(object, status)
		l.names = append(l.names, object.Ref().String())
		l.rows = append(l.rows, []string{
			object.Scope + "/" + object.Name, fmt.Sprintf("%d/%d", status.Ready, status.Replicas),
			fmt.Sprint(status.Updated), dash(status.Release), state, age(object.Metadata.CreatedAt, now),
		})
		message, _, _ = strings.Cut(message, "\n")
		l.wideRows = append(l.wideRows, []string{dash(status.Image), fmt.Sprint(object.Metadata.Generation), dash(message)})
	}
	return l
}

// stateOf is one word for how an object is, with the sentence behind it.
func stateOf(object api.Object, status api.WorkloadStatus) (state, message string) {
	if object.Metadata.Deleting() {
		return "Deleting", "its pods are being stopped"
	}
	for _, check := range []string{api.ConditionDegraded, api.ConditionProgressing} {
		if c := api.FindCondition(status.Conditions, check); c != nil && c.Status == api.ConditionTrue {
			return c.Reason, c.Message
		}
	}
	if c := api.FindCondition(status.Conditions, api.ConditionReady); c != nil {
		return c.Reason, c.Message
	}
	return "New", "no controller has looked yet"
}
