package local_test

import (
	"testing"

	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
)

func TestContract(t *testing.T) {
	nodeapitest.Run(t, func(_ *testing.T, w *nodeapitest.World,
		node string) nodeapi.Control {
		return w.Service.Node(node)
	})
}
