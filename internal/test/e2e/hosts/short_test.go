//go:build integration && !long

package hosts

// whole is set in builds with the tag long: every story then runs with all of its steps.
const whole = false
