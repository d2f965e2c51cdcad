//go:build !race

package simulation

// fixedWorlds take about a minute of one processor.
const fixedWorlds = 80
