package cli

import (
	"tend.dev/tend/api/pattern"
)

var numbers = pattern.Lazy(`[0-9]+`)

// unnumbered returns a text with every number as 0: what is tried again says the same but for times and counts.
func unnumbered(text string) string { return numbers().ReplaceAllString(text, "0") }

// lastTry returns the last lines of a container without the tries before: a program that is started again in place says
// the same each time. It returns how many tries there are in the lines; of more than one the lines are those of the
// last.
func lastTry(lines []string) ([]string, int) {
	plain := make([]string, len(lines))
	for i, line := range lines {
		plain[i] = unnumbered(line)
	}
	for period := 1; period <= len(plain)/2; period++ {
		if sameAfter(plain, period) {
			return lines[len(lines)-period:], (len(lines) + period - 1) / period
		}
	}
	return lines, 1
}

// sameAfter reports whether lines say the same after every so many.
func sameAfter(lines []string, period int) bool {
	for i := range len(lines) - period {
		if lines[i] != lines[i+period] {
			return false
		}
	}
	return true
}
