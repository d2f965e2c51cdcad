package cluster

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Lag is the fate of watches: their delay, and when they are cut. The zero value of each method's answer is neither.
type Lag interface {
	// Late returns by how much an event is late.
	Late() time.Duration
	// Cut returns a channel that is closed when all watches are cut.
	Cut() <-chan struct{}
}

// watch answers with a stream of events.
func (t *transport) watch(r *http.Request, to place) (*http.Response, error) {
	if err := t.call(t.client.Before, Request{Verb: http.MethodGet, Resource: "watches"}); err != nil {
		return failed(r, err)
	}
	query := r.URL.Query()
	selects, err := selector(query)
	if err != nil {
		return refusal(r, err), nil
	}
	from, _ := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	initial := query.Get("sendInitialEvents") == "true"
	if !initial && from < t.cluster.forgotten() {
		return refusal(r, apierrors.NewResourceExpired("too old resource version")), nil
	}
	seconds, _ := strconv.Atoi(query.Get("timeoutSeconds"))
	reader, writer := io.Pipe()
	s := &stream{
		cluster: t.cluster, out: json.NewEncoder(writer), to: to, selects: selects, partial: isPartial(r), sent: from,
		lag: t.client.Lag,
	}
	go func() {
		<-r.Context().Done()
		_ = writer.CloseWithError(io.EOF)
	}()
	go func() { _ = writer.CloseWithError(s.run(r, initial, time.Duration(seconds)*time.Second)) }()
	return respond(r, http.StatusOK, &stopping{reader, writer}), nil
}

// stopping is a stream that its reader can end. It ends as a whole one does: an error would be one event more, which
// client-go hands to a reader that is gone.
type stopping struct {
	io.Reader
	writer *io.PipeWriter
}

// Close implements io.Closer.
func (s *stopping) Close() error { return s.writer.CloseWithError(io.EOF) }

func (c *Cluster) forgotten() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.compacted
}

// stream is a running watch.
type stream struct {
	cluster *Cluster
	out     *json.Encoder
	to      place
	selects func(*unstructured.Unstructured) bool
	partial bool
	// sent is the version of the last event.
	sent uint64
	lag  Lag
}

// run sends events until the request ends, the time is over, or the watch is cut.
func (s *stream) run(r *http.Request, initial bool, most time.Duration) error {
	if most <= 0 {
		most = time.Hour
	}
	end := time.NewTimer(most)
	defer end.Stop()
	var cut <-chan struct{}
	if s.lag != nil {
		cut = s.lag.Cut()
	}
	if initial {
		if err := s.begin(); err != nil {
			return err
		}
	}
	for {
		events, next, expired := s.next()
		if expired {
			return s.send("ERROR", &metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
				Reason: metav1.StatusReasonExpired, Code: http.StatusGone, Message: "too old resource version",
			})
		}
		for _, e := range events {
			if s.lag != nil {
				if !sleep(r, s.lag.Late()-time.Since(e.at), cut) {
					return io.EOF
				}
			}
			if err := s.send(e.word, partly(e.object, s.partial)); err != nil {
				return err
			}
			s.sent = e.version
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-next:
		case <-cut:
			return io.EOF
		case <-end.C:
			return io.EOF
		case <-r.Context().Done():
			return io.EOF
		}
	}
}

// sleep waits for a time, and reports whether nothing ended the wait early.
func sleep(r *http.Request, wait time.Duration, cut <-chan struct{}) bool {
	if wait <= 0 {
		return true
	}
	select {
	case <-time.After(wait):
		return true
	case <-cut:
		return false
	case <-r.Context().Done():
		return false
	}
}

// begin sends the stored objects, and a bookmark behind the last.
func (s *stream) begin() error {
	version, all := s.cluster.all(s)
	for _, live := range all {
		if err := s.send("ADDED", partly(live, s.partial)); err != nil {
			return err
		}
	}
	s.sent = version
	mark := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"resourceVersion": strconv.FormatUint(version, 10),
		"annotations":     map[string]any{metav1.InitialEventsAnnotationKey: "true"},
	}}}
	mark.SetGroupVersionKind(s.to.kind.GroupVersionKind)
	return s.send("BOOKMARK", partly(mark, s.partial))
}

// all returns the stored objects of a stream, and the version of the cluster.
func (c *Cluster) all(s *stream) (version uint64, all []*unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, live := range c.objects {
		if s.wants(at, live) {
			all = append(all, live)
		}
	}
	return c.version, all
}

func (s *stream) wants(at key, live *unstructured.Unstructured) bool {
	return at.GroupVersionKind == s.to.kind.GroupVersionKind && (s.to.namespace == "" || at.namespace == s.to.namespace) &&
		s.selects(live)
}

// next returns the events after the last sent one, a channel that is closed with the next change, and whether events
// were forgotten.
func (s *stream) next() (events []event, changed <-chan struct{}, expired bool) {
	c := s.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.sent < c.compacted {
		return nil, nil, true
	}
	from, _ := slices.BinarySearchFunc(c.log, s.sent+1, func(e event, version uint64) int {
		return int(int64(e.version) - int64(version))
	})
	for _, e := range c.log[from:] {
		if s.wants(e.key, e.object) {
			events = append(events, e)
		}
	}
	if len(events) == 0 {
		s.sent = c.version
	}
	return events, c.changed, false
}

func (s *stream) send(word string, object any) error {
	return s.out.Encode(map[string]any{"type": word, "object": object})
}
