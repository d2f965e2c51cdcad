package testimage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// engine is a client of the engine's HTTP API, with only the calls for loading an image. The client library belongs to
// internal/node/runtime/docker alone.
type engine struct {
	http *http.Client
	base string
}

func dialEngine() (*engine, error) {
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		host = "unix:///var/run/docker.sock"
	}
	scheme, address, _ := strings.Cut(host, "://")
	switch scheme {
	case "unix":
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", address)
		}
		return &engine{http: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}},
			base: "http://engine"}, nil
	case "tcp":
		return &engine{http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, base: "http://" + address},
			nil
	}
	return nil, fmt.Errorf("test images can't be loaded over DOCKER_HOST %q; unset it, or give unix:// or tcp://", host)
}

// load sends an image archive and returns the engine's final message.
func (e *engine) load(ctx context.Context, archive io.Reader) error {
	response, err := e.send(ctx, http.MethodPost, "/images/load?quiet=1", archive)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	decoder := json.NewDecoder(io.LimitReader(response.Body, 1<<20))
	for {
		var message struct{ Error string }
		if err := decoder.Decode(&message); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if message.Error != "" {
			return errors.New(message.Error)
		}
	}
}

// untag removes a tag. An engine that gets two calls for the last two tags of an image at once fails one of them, and
// carries out the other.
func (e *engine) untag(ctx context.Context, tag string) error {
	response, err := e.send(ctx, http.MethodDelete, "/images/"+tag, nil)
	if err != nil && strings.Contains(err.Error(), "unrecognized image ID") {
		if response, err = e.send(ctx, http.MethodDelete, "/images/"+tag, nil); err != nil &&
			strings.Contains(err.Error(), "No such image") {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (e *engine) tag(ctx context.Context, from, to string) error {
	repository, tag := splitTag(to)
	query := url.Values{"repo": {repository}, "tag": {tag}}
	response, err := e.send(ctx, http.MethodPost, "/images/"+from+"/tag?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (e *engine) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, e.base+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-tar")
	response, err := e.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("docker does not answer: %w", err)
	}
	if response.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
		return nil, errors.Join(fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text), response.Body.Close())
	}
	return response, nil
}
