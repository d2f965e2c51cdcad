//go:build integration && long

package hosts

const whole = true
