//go:build integration && long

package e2e

func init() { everyCell = true }
