package eventlog

import (
	"reflect"
	"testing"
)

// The calls that may wait are thousands, and mostly none does: their room is that of pointers.
func TestAnAuditorAtRestIsSmall(t *testing.T) {
	waiting := NewAuditor(nil, nil, nil, nil).waiting
	if size := cap(waiting) * int(reflect.TypeOf(waiting).Elem().Size()); size > 64<<10 {
		t.Errorf("an auditor takes %d bytes before the first call", size)
	}
}
