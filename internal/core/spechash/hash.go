package spechash

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"tend.dev/tend/api"
)

// Version is the form of the hash that is computed today. It grows when the form changes; older forms remain available.
const Version = 1

// Deployment returns the hash of a spec with the digests of the assets it uses (reference → digest), in the newest
// form.
func Deployment(spec api.DeploymentSpec, assets map[string]string) string {
	return sum(deploymentV1(spec, assets))
}

// DeploymentVersion returns the hash in an older form, so that hashes stored by an older Tend can be compared. A
// version this code doesn't know is an error: the store was written by a newer Tend.
func DeploymentVersion(version int, spec api.DeploymentSpec, assets map[string]string) (string, error) {
	switch version {
	case 1:
		return sum(deploymentV1(spec, assets)), nil
	}
	return "", fmt.Errorf("spec hash version %d is not known to this version of tend", version)
}

// Workload returns the hash of what a release of any kind holds, in the newest form. For a deployment it equals
// Deployment.
func Workload(spec api.WorkloadSpec, assets map[string]string) string {
	return sum(workloadV1(spec, assets))
}

// WorkloadVersion is Workload in an older form; see DeploymentVersion.
func WorkloadVersion(version int, spec api.WorkloadSpec, assets map[string]string) (string, error) {
	if version != 1 {
		return "", fmt.Errorf("spec hash version %d is not known to this version of tend", version)
	}
	return Workload(spec, assets), nil
}

// sum returns the hash of the canonical JSON of a form: keys sorted, no space, no escaping of HTML.
func sum(form map[string]any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(form); err != nil {
		panic("spechash: a form holds plain values only: " + err.Error())
	}
	digest := sha256.Sum256(out.Bytes())
	return hex.EncodeToString(digest[:])
}
