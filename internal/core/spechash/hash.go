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

// Workload returns the hash of a spec with the digests of the assets it uses (reference → digest), in the newest form.
func Workload(spec api.WorkloadSpec, assets map[string]string) string {
	return sum(workloadV1(spec, assets))
}

// WorkloadVersion returns the hash in an older form, to compare with a hash that an older Tend stored. It returns an
// error for a version that this code doesn't know: a newer Tend wrote the store.
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
