package suggest

import (
	"slices"
	"strconv"
	"strings"
)

// most bounds the length of the words that are compared.
const most = 64

// Nearest returns the known name that a word was probably meant to be; empty if none is near, or several are equally
// near: a guess among them would be wrong half of the time.
func Nearest(word string, known []string) string {
	best, distance, several := "", most, false
	for _, name := range known {
		if name == word || name == best || !Near(word, name) {
			continue
		}
		switch d := Distance(word, name); {
		case d < distance:
			best, distance, several = name, d, false
		case d == distance:
			several = true
		}
	}
	switch {
	case several:
		return ""
	case best != "":
		return best
	}
	return begun(word, known)
}

// begun returns the only known name that begins with a word. Few letters are no beginning.
func begun(word string, known []string) string {
	const few = 3
	if len(word) < few {
		return ""
	}
	found := ""
	for _, name := range known {
		switch {
		case name == found || name == word || !strings.HasPrefix(name, word):
		case found != "":
			return ""
		default:
			found = name
		}
	}
	return found
}

// Question asks whether the nearest of the known names was meant; empty if none is near.
func Question(word string, known []string) string {
	if name := Nearest(word, known); name != "" {
		return Ask(strconv.Quote(name))
	}
	return ""
}

// Among asks whether one of a few names was meant; empty if there are none, or too many to choose from.
func Among(names []string) string {
	const few = 3
	if len(names) == 0 || len(names) > few {
		return ""
	}
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, strconv.Quote(name))
	}
	return Ask(strings.Join(quoted, " or "))
}

// Ask returns the question whether something was meant; empty if nothing was.
func Ask(meant string) string {
	if meant == "" {
		return ""
	}
	return "did you mean " + meant + "?"
}

// Behind returns the question whether something was meant, to stand behind a message; empty if nothing was.
func Behind(meant string) string {
	if meant == "" {
		return ""
	}
	return "; " + Ask(meant)
}

// Near reports whether a name is probably what a word was meant to be. As many letters may be wrong as the shorter of
// the two allows: run isn't a slip of prune.
func Near(word, name string) bool {
	bound := min(allowed(word), allowed(name))
	return word != name && len(name)-len(word) <= 4*bound && len(word)-len(name) <= 4*bound &&
		Distance(word, name) <= bound
}

// allowed returns how many letters of a word may be wrong: about every third, and never all of them.
func allowed(word string) int {
	length := len([]rune(word))
	return min(max((length+1)/3, 1), length-1)
}

// Distance returns the number of letters to insert, drop, replace or swap with their neighbour.
func Distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > most || len(y) > most {
		return max(len(x), len(y))
	}
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = slices.Min([]int{last[j] + 1, row[j-1] + 1, last[j-1] + cost})
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(y)]
}
