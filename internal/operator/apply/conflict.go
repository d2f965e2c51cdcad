package apply

import (
	"errors"
	"maps"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conflict is a field that another field manager has set to another value.
type Conflict struct {
	Manager, Field string
}

// conflictWith finds the manager's name in the message of a cause: conflict with "kubectl" using v1.
var conflictWith = regexp.MustCompile(`conflict with "([^"]*)"`)

// Conflicts returns the conflicts, by field, in the API server's answer to an apply without force. It returns none for
// another error.
func Conflicts(err error) []Conflict {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Details == nil {
		return nil
	}
	fields := map[Conflict]bool{}
	for _, cause := range answer.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		name := cause.Message
		if found := conflictWith.FindStringSubmatch(cause.Message); found != nil {
			name = found[1]
		}
		fields[Conflict{Manager: name, Field: cause.Field}] = true
	}
	return slices.SortedFunc(maps.Keys(fields), func(a, b Conflict) int {
		return slices.Compare([]string{a.Field, a.Manager}, []string{b.Field, b.Manager})
	})
}
