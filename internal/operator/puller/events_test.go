package puller

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api/pull"
)

// TestBatchesFitARequest: a batch never exceeds the size that the control plane accepts. An event that exceeds it alone
// is dropped alone.
func TestBatchesFitARequest(t *testing.T) {
	inBench(t, func(b *bench) {
		b.plane.mu.Lock()
		b.plane.answer = func(r *http.Request) (int, string) {
			if r.ContentLength > pull.MaxBody {
				return http.StatusRequestEntityTooLarge, ""
			}
			return 0, ""
		}
		b.plane.mu.Unlock()
		emit := func(key string, size int) {
			message := strings.Repeat("<", size/len(`\u003c`))
			b.puller.Emit(pull.Event{EventKey: key, Conditions: []pull.Condition{{Message: message}}})
		}
		var want []string
		emit("large", pull.MaxBody)
		for i := range 10 {
			want = append(want, fmt.Sprint(i))
			emit(fmt.Sprint(i), pull.MaxBody/4)
		}
		emit("larger", 2*pull.MaxBody)
		emit("last", 1)
		want = append(want, "last")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if waiting, _ := b.puller.Buffered(); waiting != 0 || !slices.Equal(b.plane.keys, want) ||
			fmt.Sprint(b.plane.events) != "[3 3 3 2]" {
			b.Errorf("%d wait, %v came in batches of %v, want %v", waiting, b.plane.keys, b.plane.events, want)
		}
	})
}

// TestEvents: an event is sent within 200 ms, with those that followed it, or at once when a batch is full. Events that
// can't be sent wait in order; the oldest are dropped if there is no room. The rest is sent at the end.
func TestEvents(t *testing.T) {
	inBench(t, func(b *bench) {
		emit := func(from, to int) {
			for i := from; i < to; i++ {
				b.puller.Emit(pull.Event{EventKey: fmt.Sprint(i)})
			}
		}
		emit(0, 2)
		time.Sleep(100 * time.Millisecond)
		emit(2, 3)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if got := fmt.Sprint(b.plane.events); got != "[3]" {
			b.Errorf("after 200 ms: batches %s", got)
		}
		time.Sleep(time.Minute)
		emit(3, 3+pull.MaxEvents)
		synctest.Wait()
		if got := fmt.Sprint(b.plane.events); got != "[3 100]" {
			b.Errorf("batches %s", got)
		}
		b.plane.mu.Lock()
		b.plane.answer = func(r *http.Request) (int, string) {
			if r.URL.Path == pull.EventsPath {
				return http.StatusServiceUnavailable, ""
			}
			return 0, ""
		}
		b.plane.events, b.plane.keys = nil, nil
		b.plane.mu.Unlock()
		emit(1000, 1000+maxBuffer+50)
		time.Sleep(time.Minute)
		synctest.Wait()
		if waiting, dropped := b.puller.Buffered(); waiting != maxBuffer || dropped != 50 {
			b.Errorf("%d wait, %d were dropped", waiting, dropped)
		}
		b.plane.mu.Lock()
		b.plane.answer = nil
		b.plane.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if waiting, dropped := b.puller.Buffered(); waiting != 0 || dropped != 0 ||
			len(b.plane.events) != maxBuffer/pull.MaxEvents {
			b.Errorf("%d wait, %d dropped, %d batches", waiting, dropped, len(b.plane.events))
		}
		if !slices.IsSortedFunc(b.plane.keys, strings.Compare) || b.plane.keys[0] != "1050" {
			b.Errorf("out of order: %v …", b.plane.keys[:3])
		}
		b.plane.events = nil
		emit(5000, 5002)
		b.stop()
		if got := fmt.Sprint(b.plane.events); got != "[2]" {
			b.Errorf("the last batch: %s", got)
		}
	})
}
