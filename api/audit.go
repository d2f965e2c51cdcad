package api

import (
	"net/netip"
	"strings"
)

// AuditData is the data of an audited call: who asked for what, from where, and the answer. It has no body and no
// query, which may have secrets.
type AuditData struct {
	// Method and Path are the request's.
	Method string `json:"method"`
	Path   string `json:"path"`
	// Actor made the call: a user of the machine with the process, the name of an access token with the address, or
	// only the address for the server's own token.
	Actor string `json:"actor,omitempty"`
	// Kind, Scope and Name are the object that was named, as far as it was. Objects are those of an apply with what it
	// pruned, of a deletion that prunes, or of a class of labs, or a token that is made or revoked (token/NAME): at most
	// MaxAuditObjects, and MoreObjects counts the others.
	Kind        Kind     `json:"kind,omitempty"`
	Scope       string   `json:"scope,omitempty"`
	Name        string   `json:"name,omitempty"`
	Objects     []string `json:"objects,omitempty"`
	MoreObjects int      `json:"moreObjects,omitempty"`
	// Pod is the pod that a command ran in, or that was stopped or started. Kind, Scope and Name then identify its
	// object, if it existed.
	Pod string `json:"pod,omitempty"`
	// Reason is the caller's reason for an approval.
	Reason string `json:"reason,omitempty"`
	// DryRun: nothing was to change.
	DryRun bool `json:"dryRun,omitempty"`
	// Status is the answer's, and Problem its title if it is one.
	Status  int    `json:"status"`
	Problem string `json:"problem,omitempty"`
	// TookMilliseconds is the time until the answer.
	TookMilliseconds int64 `json:"tookMilliseconds"`
	// Request is the id of the request, which its answer (X-Request-ID) and the server's log have.
	Request string `json:"request,omitempty"`
	// Count is the number of calls that the record stands for, if more than one: those without a token, or equal ones
	// of one actor who is refused or is a container, within a minute.
	Count int `json:"count,omitempty"`
}

// MaxAuditObjects bounds the objects that one audited call lists: all of an apply can be found.
const MaxAuditObjects = MaxApplyObjects

// ActorName returns an actor without what differs from one call to the next: the process of a user, the address of an
// access token, the port of any other address.
func ActorName(actor string) string {
	actor, _, _ = strings.Cut(actor, " (pid ")
	actor, _, _ = strings.Cut(actor, " (token from ")
	words := strings.Split(actor, " ")
	for i, word := range words {
		if address, err := netip.ParseAddrPort(word); err == nil {
			words[i] = address.Addr().String()
		}
	}
	return strings.Join(words, " ")
}
