//go:build !long

package daemon

// everyDeath has a server die in each of the ways that deaths returns. Otherwise it dies at the first hit of each
// point, and in one of the other ways, which differs from point to point. Builds with the tag long have it.
const everyDeath = false
