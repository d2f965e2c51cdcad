//go:build integration && long

package histories

const rounds = 2
