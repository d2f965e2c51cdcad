package cli

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"tend.dev/tend/api/pattern"
)

// digests finds the digests within a text, with the part that is enough for people.
var digests = pattern.Lazy(`(sha256:[0-9a-f]{12})[0-9a-f]{52}\b`)

// briefDigests returns a JSON value with its digests as short as the engine shows them.
func briefDigests(value json.RawMessage) string {
	return digests().ReplaceAllString(string(value), "$1")
}

// changedWords finds OLD → NEW in a text.
var changedWords = pattern.Lazy(`(\S+) → (\S+?)(,?(?:\s|$))`)

// shortened returns a text of at most width columns. Of `OLD → NEW` it first leaves out what both have in common, so
// that what differs stays; then it cuts the end.
func shortened(text string, width int) string {
	if ansi.StringWidth(text) <= width {
		return text
	}
	brief := text
	// every change in the text gets the same room, and as much as fits
	for room := width; room > 0 && ansi.StringWidth(brief) > width; room-- {
		brief = changedWords().ReplaceAllStringFunc(text, func(found string) string {
			parts := changedWords().FindStringSubmatch(found)
			return longestForm(parts[1], parts[2], room) + parts[3]
		})
	}
	return strings.ReplaceAll(ansi.Truncate(brief, width, "…"), "……", "…")
}

// longestForm returns the longest form of `BEFORE → AFTER` that fits the width, or the shortest one of all.
func longestForm(before, after string, width int) string {
	forms := changeForms([]rune(before), []rune(after))
	for _, form := range forms {
		if ansi.StringWidth(form) <= width {
			return form
		}
	}
	return forms[len(forms)-1]
}

// changeForms returns the forms of a change, the longest first: whole, without parts of the beginning and the end that
// both values share, and with no more than the first characters of what differs.
func changeForms(before, after []rune) []string {
	starts, ends, differ := cutPoints(before, after)
	var forms []string
	for _, start := range starts {
		for _, end := range ends {
			forms = append(forms, part(before, start, len(before)-end)+" → "+part(after, start, len(after)-end))
		}
		rest := ends[len(ends)-1]
		for most := 24; most >= 4; most /= 2 {
			end := differ + most
			forms = append(forms, part(before, start, min(end, len(before)-rest))+" → "+
				part(after, start, min(end, len(after)-rest)))
		}
	}
	slices.SortStableFunc(forms, func(a, b string) int { return cmp.Compare(ansi.StringWidth(b), ansi.StringWidth(a)) })
	return forms
}

// part returns the characters of a value from start to end, and … for those that it leaves out.
func part(value []rune, start, end int) string {
	text := string(value[start:end])
	if start > 0 {
		text = "…" + text
	}
	if end < len(value) {
		text += "…"
	}
	return text
}

// cutPoints returns where forms of two values may start, how many characters at their end they may leave out, and where
// the values begin to differ. A word in which they differ stays whole, unless it is long.
func cutPoints(before, after []rune) (starts, ends []int, differ int) {
	shorter := min(len(before), len(after))
	for differ < shorter && before[differ] == after[differ] {
		differ++
	}
	same := 0
	for same < shorter-differ && before[len(before)-1-same] == after[len(after)-1-same] {
		same++
	}
	const longWord = 8
	first := differ
	for first > 0 && inWord(before[first-1]) {
		first--
	}
	if differ-first > longWord {
		first = differ
	}
	rest := same
	for rest > 0 && inWord(before[len(before)-rest]) {
		rest--
	}
	if same-rest > longWord {
		rest = same
	}
	starts, ends = []int{0}, []int{0}
	for i := 1; i < first; i++ {
		if strings.ContainsRune("/:@", before[i]) {
			starts = append(starts, i)
		}
	}
	return append(starts, first), append(ends, rest), differ
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
