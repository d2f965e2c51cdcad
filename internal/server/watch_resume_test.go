package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/store/records"
)

// commit applies changes in one commit.
func (w *world) commit(txn *records.Txn) {
	w.t.Helper()
	revision, err := txn.Commit(context.Background(), w.store)
	if err == nil {
		err = w.view.WaitFor(context.Background(), revision)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestAWatchGoesOnWithinACommit: a watch that is cut between two lines of one commit goes on with the rest of it, also
// with its deletions.
func TestAWatchGoesOnWithinACommit(t *testing.T) {
	w := newWorld(t)
	var all []api.Object
	for _, name := range []string{"a", "b", "c", "d"} {
		all = append(all, deployment(name, `{"image":"x"}`))
	}
	before := w.view.Revision()
	if _, err := w.client.Apply(t.Context(), api.ApplyRequest{Objects: all}); err != nil {
		t.Fatal(err)
	}
	created := w.view.Revision()
	w.commit(records.NewTxn("test").Delete(records.ObjectKey(ref("a"))).Delete(records.ObjectKey(ref("b"))).
		Put(records.StatusKey(ref("c")), api.WorkloadStatus{Ready: 1}).Delete(records.ObjectKey(ref("d"))))
	w.apply("end", `{"image":"x"}`)
	for reason, tc := range map[string]struct {
		since int64
		want  string
	}{
		// Those that are gone by now have no line of their creation: that of their deletion follows.
		"created and deleted": {before, "put c, delete a, delete b, put c, delete d, put end"},
		"deleted":             {created, "delete a, delete b, put c, delete d, put end"},
	} {
		all := strings.Split(tc.want, ", ")
		for cut := range len(all) {
			read := func(since int64, until func(got []string) bool) (got []string, at int64) {
				watch := w.client.Watch(t.Context(), api.KindDeployment, client.WatchOptions{Since: since})
				defer watch.Close()
				for !until(got) {
					event, err := watch.Next()
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, string(event.Type)+" "+event.Object.Name)
				}
				return got, watch.Revision()
			}
			first, at := read(tc.since, func(got []string) bool { return len(got) == cut })
			rest, last := read(at, func(got []string) bool { return len(got) > 0 && got[len(got)-1] == "put end" })
			if got := strings.Join(append(first, rest...), ", "); !strings.HasSuffix(got, strings.Join(all[cut:], ", ")) {
				t.Errorf("%s: cut after %d lines it goes on with %s, want %s", reason, cut, rest, all[cut:])
			}
			if last != w.view.Revision() {
				t.Errorf("%s: it would resume from %d, want %d", reason, last, w.view.Revision())
			}
		}
	}
}

// TestADeletionIsSeenBehindItsStatus: whatever the order of a commit's changes, that of the object itself counts.
func TestADeletionIsSeenBehindItsStatus(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	w.put(records.StatusKey(ref("web")), api.WorkloadStatus{Ready: 1})
	watch := w.client.Watch(t.Context(), api.KindDeployment, client.WatchOptions{Since: w.view.Revision()})
	defer watch.Close()
	w.commit(records.NewTxn("test").Delete(records.StatusKey(ref("web"))).Delete(records.ObjectKey(ref("web"))))
	w.apply("end", `{"image":"x"}`)
	if got := nextEvent(t, watch); got != "delete web 0" {
		t.Errorf("%s, want the deletion", got)
	}
}

// TestAWatchGoesOnFromTheLastID: a reader of server-sent events repeats its first URL, and the header says where it is.
func TestAWatchGoesOnFromTheLastID(t *testing.T) {
	w := newWorld(t)
	first := w.apply("a", `{"image":"a"}`)
	second := w.apply("b", `{"image":"a"}`)
	third := w.apply("c", `{"image":"a"}`)
	ask := func(query, last string) *http.Request {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.http+"/v1/objects/deployment"+query,
			http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Accept", "text/event-stream")
		request.Header.Set("Last-Event-ID", last)
		return request
	}
	for _, since := range []string{"", fmt.Sprintf("&since=%d", first.Revision)} {
		response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(ask("?watch=1"+since,
			strconv.FormatInt(second.Revision, 10)))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "id: ") {
			t.Errorf("%q before an id", lines.Text())
		}
		if want := fmt.Sprintf("id: %d", third.Revision); lines.Text() != want {
			t.Errorf("%q goes on with %s, want %s", since, lines.Text(), want)
		}
		response.Body.Close()
	}
	for _, id := range []string{"x", "-1"} {
		response, body := w.do(ask("?watch=1", id))
		if problem := wantProblem(t, response, body, 400); !strings.Contains(problem.Detail, "Last-Event-ID") {
			t.Errorf("%s: %s", id, body)
		}
	}
}
