// Package version holds what the binary says of itself. It decides nothing.
package version
