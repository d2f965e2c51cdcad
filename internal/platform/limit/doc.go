// Package limit counts what each of many may have of something that all share: how often, how many at once, how many
// bytes.
package limit
