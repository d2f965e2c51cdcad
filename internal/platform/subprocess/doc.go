// Package subprocess runs a program of the machine within bounds: of its time, and of what it writes. Whatever ends it
// early ends all that it started.
//
// It decides neither which program runs nor with which environment, and knows nothing of its answer.
package subprocess
