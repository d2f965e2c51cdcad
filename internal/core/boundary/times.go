package boundary

import (
	"reflect"
	"time"

	"tend.dev/tend/api/node"
)

// maxAhead is the distance that a node's clock may be ahead of the server's, with what it puts off meanwhile.
const maxAhead = time.Hour

// Time returns a time that a node reports, or the present for one that lies before 1970 or far ahead: what counts from
// such a time would never end, and years beyond 9999 can't be stored. The zero time stays zero.
func Time(at, now time.Time) time.Time {
	if !at.IsZero() && (at.Unix() < 0 || at.After(now.Add(maxAhead))) {
		return now.UTC()
	}
	return at
}

// Times returns a report with each of its times as Time returns it. No task ended before it started.
func Times(report node.Report, now time.Time) node.Report {
	out := bounded(reflect.ValueOf(report), now).Interface().(node.Report)
	for i := range out.Tasks {
		if t := &out.Tasks[i]; !t.FinishedAt.IsZero() && t.FinishedAt.Before(t.StartedAt) {
			t.FinishedAt = t.StartedAt
		}
	}
	return out
}

// bounded returns a copy of a value: an agent in this process goes on with its own.
func bounded(v reflect.Value, now time.Time) reflect.Value {
	if at, ok := reflect.TypeAssert[time.Time](v); ok {
		return reflect.ValueOf(Time(at, now))
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch kind := v.Kind(); {
	case kind == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(bounded(v.Field(i), now))
			}
		}
	case kind == reflect.Pointer && !v.IsNil():
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(bounded(v.Elem(), now))
	case kind == reflect.Slice && !v.IsNil():
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(bounded(v.Index(i), now))
		}
	case kind == reflect.Map && !v.IsNil():
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for each := v.MapRange(); each.Next(); {
			out.SetMapIndex(each.Key(), bounded(each.Value(), now))
		}
	}
	return out
}
