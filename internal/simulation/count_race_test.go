//go:build race

package simulation

// fixedWorlds are fewer under the race detector, which makes a world ten times slower.
const fixedWorlds = 8
