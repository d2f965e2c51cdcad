package engine

import (
	"encoding/json"
	"slices"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// Secrets returns the names of the Secrets without which the operation's object could not do its work, sorted: that of a
// repository, and those that variables are read from, unless they are optional. What can't be read names none.
func Secrets(op *opsv1alpha1.Operation) []string {
	var params struct {
		Repository struct {
			SecretName string `json:"secretName"`
		} `json:"repository"`
		Env []struct {
			ValueFrom struct {
				SecretKeyRef struct {
					Name     string `json:"name"`
					Optional bool   `json:"optional"`
				} `json:"secretKeyRef"`
			} `json:"valueFrom"`
		} `json:"env"`
	}
	if raw := op.Spec.Parameters; raw == nil || json.Unmarshal(raw.Raw, &params) != nil {
		return nil
	}
	names := []string{params.Repository.SecretName}
	for _, variable := range params.Env {
		if ref := variable.ValueFrom.SecretKeyRef; !ref.Optional {
			names = append(names, ref.Name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	slices.Sort(names)
	return slices.Compact(names)
}
