package imageask

import "github.com/distribution/reference"

// Registry returns the host of the registry that an image is pulled from, in the form of api.RegistrySpec's Host, or
// "".
func Registry(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return ""
	}
	return reference.Domain(named)
}
