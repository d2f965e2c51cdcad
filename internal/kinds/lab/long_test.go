//go:build long

package lab

const pendingLabs = 10_000
