package daemon

import (
	"slices"
	"testing"
)

// The callers of the listener for nodes that some path is for.
const (
	aNode, anIngressNode, aBuilder = "a node", "an ingress node", "a builder"
	aContainer                     = "a node that passes on a call of its container"
	aThief                         = "a node that has the token of a container of another node"
	joiningNode, joiningServer     = "a machine with a join token", "a machine with a join token of servers"
	aServer                        = "a server"
	anOperator, joiningOperator    = "the operator of a cluster", "an operator that registers"
)

// joinedAll are the machines that have joined. One passes on a call of its container, and may do what it may itself.
var joinedAll = []string{aNode, anIngressNode, aBuilder, aContainer, aThief}

// pathRow is the row of a path: who gets in, by which request, and the status of the answer.
type pathRow struct {
	// who are the names of callers. Empty: nobody.
	who    []string
	status int
	// path is added to the pattern's, part stands for what the pattern leaves open. Default: x.
	path, part string
	// body is the request's. Default: {}. $JOIN, $BEARER and $CALL are credentials of the caller, $NODE is its name,
	// $SIGN a certificate request for a declared host, $TREE the digest of the source tree that the builder builds. The
	// builder has the task t-built too.
	body string
	// stream is set if the answer has no end.
	stream bool
}

// pathsOfNodes are all paths of the listener for nodes. TestEveryPathHasItsRow finds one that is missing.
var pathsOfNodes = map[string]pathRow{
	"GET /node/v1/follow":                {who: joinedAll, status: 200, stream: true},
	"GET /node/v1/state":                 {who: joinedAll, status: 200},
	"POST /node/v1/report":               {who: joinedAll, status: 200},
	"POST /node/v1/alive":                {who: joinedAll, status: 204, path: "?ttl=30s"},
	"POST /node/v1/release":              {who: []string{aBuilder}, status: 200, body: `{"id":"t-built"}`},
	"GET /node/v1/registry":              {who: joinedAll, status: 200, path: "?host=other.example"},
	"POST /node/v1/build-secrets":        {who: []string{aBuilder}, status: 200, body: ofBuilt},
	"GET /node/v1/blobs/{digest}":        {who: []string{aBuilder}, status: 404, part: "$TREE"},
	"GET /node/v1/release-images/{task}": {who: []string{aBuilder}, status: 404, part: "t-built"},
	"POST /node/v1/referred":             {who: joinedAll, status: 200, body: `["sha256:1"]`},
	"POST /node/v1/ingress":              {who: joinedAll, status: 200, body: `{"node":"$NODE"}`},
	"POST /node/v1/network":              {who: joinedAll, status: 200, body: `{"node":"$NODE"}`},
	"GET /node/v1/resolve":               {who: joinedAll, status: 200, path: "?name=db.prod"},
	"POST /node/v1/certificates/{do}": {who: []string{anIngressNode}, status: 200, part: "store",
		body: `{"key":"certificates/internal/own.example/own.example.crt","value":"AAAA"}`},
	"POST /node/v1/sign":            {who: []string{anIngressNode}, status: 200, body: `{"request":"$SIGN"}`},
	"POST /node/v1/locks/{name...}": {who: []string{anIngressNode}, status: 200},
	"/node/v1/callbacks/": {who: []string{aContainer}, status: 200, path: "$CALL/config?scope=prod&name=db",
		body: `{"A":"1"}`},
	"POST /node/v1/renew": {who: joinedAll, status: 200, body: `{"request":"$SIGN"}`},
	"POST /node/v1/join": {who: []string{joiningNode}, status: 200,
		body: `{"token":"$JOIN","node":"joining","request":"$SIGN"}`},
	"POST /server/v1/join": {who: []string{joiningServer}, status: 409,
		body: `{"token":"$JOIN","name":"joining","url":"https://192.0.2.1:2380","schema":"another"}`},
	"GET /server/v1/blobs/{digest}": {who: []string{aServer}, status: 404, part: "$TREE"},
	"GET /server/v1/revision":       {who: []string{aServer}, status: 200},
	"POST /api/agent/register": {who: []string{joiningOperator}, status: 200,
		body: `{"registrationToken":"$BEARER"}`},
	"GET /api/agent/jobs":                 {who: []string{anOperator}, status: 200, path: "?wait=0"},
	"GET /api/agent/delivered":            {who: []string{anOperator}, status: 200},
	"POST /api/agent/queries/{id}/answer": {who: []string{anOperator}, status: 404},
	"POST /api/agent/jobs/{id}/ack":       {who: []string{anOperator}, status: 404},
	"POST /api/agent/jobs/{id}/status":    {who: []string{anOperator}, status: 404},
	"POST /api/agent/jobs/{id}/result": {who: []string{anOperator}, status: 404,
		body: `{"outcome":"noop"}`},
	"POST /api/agent/events":             {who: []string{anOperator}, status: 204},
	"POST /api/agent/credentials/rotate": {who: []string{anOperator}, status: 200},
	"/api/agent/":                        {},
}

// TestEveryPathHasItsRow: a message that is added to a protocol of the listener for nodes says for whom it is. The
// patterns are those that the listener itself has.
func TestEveryPathHasItsRow(t *testing.T) {
	patterns := newListened(t).daemon.nodeListener.patterns
	for _, pattern := range patterns {
		if _, has := pathsOfNodes[pattern]; !has {
			t.Errorf("%s has no row in pathsOfNodes", pattern)
		}
	}
	for pattern := range pathsOfNodes {
		if !slices.Contains(patterns, pattern) {
			t.Errorf("%s has a row in pathsOfNodes, and nothing answers it", pattern)
		}
	}
}
