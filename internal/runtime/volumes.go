package runtime

import (
	"fmt"

	"tend.dev/tend/api"
)

// CheckVolume returns a RejectedError if the labels of a volume that exists are those of another claim than the wanted
// one: the names of claims of two scopes may be alike (a/b-c and a-b/c). What a user created has no such labels.
func CheckVolume(name string, have, wanted map[string]string) error {
	for _, label := range []string{api.LabelScope, api.LabelName, api.LabelClaim} {
		if has := have[label]; has != "" && has != wanted[label] {
			return &RejectedError{
				Reason: api.ReasonVolumeTaken,
				Detail: fmt.Sprintf("the volume %s is that of the claim %s of statefulset/%s/%s", name,
					have[api.LabelClaim], have[api.LabelScope], have[api.LabelName]),
				Next: "choose another name for the claim; or, if its data is not needed: docker volume rm " + name,
			}
		}
	}
	return nil
}
