package env

import "tend.dev/tend/api"

// OfReference returns where the value of a well-formed ${config.…} is stored: the buckets, lowest first, and the key. A
// reference without an app means the buckets of the object itself.
func OfReference(ref api.Ref, envFrom []string, r api.Reference) (buckets []Bucket, key string) {
	key = r.Path[len(r.Path)-1]
	switch len(r.Path) {
	case 3:
		return []Bucket{{Scope: r.Path[0], Name: r.Path[1]}}, key
	case 2:
		return []Bucket{{Scope: ref.Scope, Name: r.Path[0]}}, key
	}
	for _, source := range Sources(ref, envFrom) {
		buckets = append(buckets, source.Buckets...)
	}
	return buckets, key
}
