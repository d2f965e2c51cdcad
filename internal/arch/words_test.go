package arch

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// dialect are words that comments don't use, with the field's word. Names that still hold one of them are renamed with
// the code around them.
var dialect = map[string]string{
	"anew":     "again",
	"somebody": "who it is",
	"whoever":  "who it is",
	"a look":   "reconcile, inspect",
}

func TestCommentsArePlainEnglish(t *testing.T) { report(t, dialectFaults(sources(t))) }

var dialectWord = regexp.MustCompile(`(?i)(?:^|[^\w".])(anew|somebody|whoever|a look)(?:[^\w"(]|$)`)

func dialectFaults(all []*source) (faults []string) {
	for _, s := range all {
		if s.folder() == "internal/arch" {
			continue
		}
		for _, group := range s.ast.Comments {
			if found := dialectWord.FindStringSubmatch(group.Text()); found != nil {
				word := strings.ToLower(found[1])
				faults = append(faults, fmt.Sprintf("%s says %q: say %s", s.at(group), word, dialect[word]))
			}
		}
	}
	return faults
}
