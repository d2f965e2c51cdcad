package kubetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Write is a request that changed something or tried to: any but get, list and watch.
type Write struct {
	// Agent is the client's user agent.
	Agent string
	// User is the client's user, impersonated or not.
	User string
	// Verb is create, update, patch (which includes apply), delete or deletecollection.
	Verb string
	// Group, Resource and Subresource identify the object's kind. Resource is a plural.
	Group, Resource, Subresource string
	// Namespace and Name identify the object. Name is empty if the server generated it.
	Namespace, Name string
	// Code is the HTTP status of the answer.
	Code int
	// Request is the URI with its parameters, such as the field manager.
	Request string
}

// Writes returns, in order, the writes for which keep returns true. The server logs a request before it completes its
// answer. A last line without its end is that of a request whose answer is still to come.
func (s *Server) Writes(t testing.TB, keep func(Write) bool) (writes []Write) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, auditFile))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(content[:bytes.LastIndexByte(content, '\n')+1]) {
		var event struct {
			UserAgent, Verb, RequestURI string
			ImpersonatedUser, User      struct{ Username string }
			ObjectRef                   struct{ APIGroup, Resource, Subresource, Namespace, Name string }
			ResponseStatus              struct{ Code int }
		}
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("audit log: %v: %s", err, line)
		}
		w := Write{
			Agent: event.UserAgent, User: cmp.Or(event.ImpersonatedUser.Username, event.User.Username), Verb: event.Verb,
			Group: event.ObjectRef.APIGroup, Resource: event.ObjectRef.Resource,
			Subresource: event.ObjectRef.Subresource, Namespace: event.ObjectRef.Namespace, Name: event.ObjectRef.Name,
			Code: event.ResponseStatus.Code, Request: event.RequestURI,
		}
		if keep(w) {
			writes = append(writes, w)
		}
	}
	return writes
}
