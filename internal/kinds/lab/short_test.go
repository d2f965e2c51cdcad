//go:build !long

package lab

// pendingLabs is the number of labs that wait together. Builds with the tag long have 10,000.
const pendingLabs = 2_000
