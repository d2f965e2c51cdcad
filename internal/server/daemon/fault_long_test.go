//go:build long

package daemon

const everyDeath = true
