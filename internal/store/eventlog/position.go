package eventlog

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Position is a place between events: after the event of an index in the commit of a revision. The zero value is before
// the first event.
type Position struct {
	Revision int64
	Index    int
}

// After returns the position after everything of a revision.
func After(revision int64) Position {
	if revision <= 0 {
		return Position{}
	}
	return Position{revision, math.MaxInt32}
}

// String returns the id of the event before the position. A revision alone stands for the position after all its
// events.
func (p Position) String() string {
	if p.Revision == 0 || p.Index == math.MaxInt32 {
		return strconv.FormatInt(p.Revision, 10)
	}
	return strconv.FormatInt(p.Revision, 10) + "." + strconv.Itoa(p.Index)
}

// Compare orders positions.
func (p Position) Compare(other Position) int {
	return cmp.Or(cmp.Compare(p.Revision, other.Revision), cmp.Compare(p.Index, other.Index))
}

// ParsePosition parses an event's id, or a revision.
func ParsePosition(text string) (Position, error) {
	revision, index, both := strings.Cut(text, ".")
	n, err := strconv.ParseInt(revision, 10, 64)
	if err != nil || n < 0 {
		return Position{},
			fmt.Errorf("%q is not a position in the log: give the id of an event (1234.0) or a revision (1234)", text)
	}
	if !both {
		return After(n), nil
	}
	i, err := strconv.ParseUint(index, 10, 31)
	if err != nil {
		return Position{},
			fmt.Errorf("%q is not a position in the log: give the id of an event (1234.0) or a revision (1234)", text)
	}
	return Position{n, int(i)}, nil
}
