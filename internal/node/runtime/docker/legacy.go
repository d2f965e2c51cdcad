package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/containerd/errdefs/pkg/errhttp"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"
)

// legacyFields are fields that engines before API 1.44 read from places that the client library no longer knows.
type legacyFields struct {
	MacAddress   string
	KernelMemory int64
}

func (l legacyFields) needed(version string) bool {
	return l != legacyFields{} && versions.LessThan(version, manyEndpointsAPI)
}

// legacyBody is a create request with them.
type legacyBody struct {
	*container.Config
	MacAddress       string `json:",omitempty"`
	HostConfig       legacyHostConfig
	NetworkingConfig *network.NetworkingConfig `json:",omitempty"`
}

type legacyHostConfig struct {
	*container.HostConfig
	KernelMemory int64 `json:",omitempty"`
}

// createLegacy is ContainerCreate with the legacy fields, over a connection like the client's.
func (r *Runtime) createLegacy(ctx context.Context, from *request) (string, error) {
	body, err := json.Marshal(legacyBody{
		Config: from.Config, MacAddress: from.legacy.MacAddress, NetworkingConfig: from.NetworkingConfig,
		HostConfig: legacyHostConfig{HostConfig: from.HostConfig, KernelMemory: from.legacy.KernelMemory},
	})
	if err != nil {
		return "", err
	}
	target := "http://" + client.DummyHost + "/v" + r.client.ClientVersion() + "/containers/create?" +
		url.Values{"name": {from.Name}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	dial := r.client.Dialer()
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var answer struct{ ID, Message string }
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&answer); err != nil {
		return "", err
	}
	if response.StatusCode >= 300 {
		return "", fmt.Errorf("%w: %s", errhttp.ToNative(response.StatusCode), answer.Message)
	}
	return answer.ID, nil
}
