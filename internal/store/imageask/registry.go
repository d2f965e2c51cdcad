package imageask

import "github.com/distribution/reference"

// Registry returns the host of the registry that an image is pulled from, as api.RegistrySpec's Host has it; empty if
// it is from none.
func Registry(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return ""
	}
	return reference.Domain(named)
}
