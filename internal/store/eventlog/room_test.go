package eventlog

import (
	"reflect"
	"testing"
)

// Thousands of calls may wait, but mostly none does: the queue holds pointers.
func TestAnAuditorAtRestIsSmall(t *testing.T) {
	waiting := NewAuditor(nil, nil, nil, nil).waiting
	if size := cap(waiting) * int(reflect.TypeOf(waiting).Elem().Size()); size > 64<<10 {
		t.Errorf("an auditor takes %d bytes before the first call", size)
	}
}
