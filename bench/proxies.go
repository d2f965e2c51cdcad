package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// proxied is the host in requests to proxies in plain text, secured the one over TLS: wrk takes a server's name from
// the address it connects to.
const (
	proxied = "app.bench"
	secured = "localhost"
)

// peer is a proxy that the ingress is measured against: a process of this run, with a config of its own, that serves
// one upstream.
type peer struct {
	name            string
	address, secure string // of plain HTTP and of TLS
	command         *exec.Cmd
	exited          chan error
}

// peers are packages of Debian, each configured as its documentation recommends for a proxy: with kept connections to
// the upstream, and with the headers that Tend adds too.
var peers = []struct {
	name, template string
	args           func(config string) []string
}{
	{"nginx", nginxConfig, func(config string) []string { return []string{"-c", config} }},
	{"caddy", caddyConfig, func(config string) []string { return []string{"run", "--adapter", "caddyfile", "--config", config} }},
	{"haproxy", haproxyConfig, func(config string) []string { return []string{"-db", "-f", config} }},
}

const nginxConfig = `daemon off; worker_processes auto; pid DIR/nginx.pid; error_log DIR/nginx.log;
events { worker_connections 8192; }
http {
  access_log off; keepalive_requests 1000000;
  client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi; uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
  ssl_certificate DIR/both.pem; ssl_certificate_key DIR/both.pem; ssl_session_cache shared:tls:4m;
  upstream pod { server UPSTREAM; keepalive 256; keepalive_requests 1000000; }
  server {
    listen PLAIN backlog=4096; listen SECURE ssl http2 backlog=4096; server_name HOST SECUREHOST;
    location / {
      proxy_pass http://pod; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Real-IP $remote_addr;
    }
  }
}
`

const caddyConfig = `{
	admin off
	auto_https off
}
http://HOST:PLAINPORT {
	bind IP
	reverse_proxy UPSTREAM
}
https://SECUREHOST:SECUREPORT {
	bind IP
	tls DIR/both.pem DIR/both.pem
	reverse_proxy UPSTREAM
}
`

const haproxyConfig = `global
  maxconn 8192
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  http-reuse always
frontend app
  bind PLAIN backlog 4096
  bind SECURE ssl crt DIR/both.pem alpn h2,http/1.1 backlog 4096
  http-request set-header X-Forwarded-For %[src]
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-request set-header X-Forwarded-Proto %[ssl_fc,iif(https,http)]
  http-request set-header X-Real-IP %[src]
  default_backend pod
backend pod
  server pod UPSTREAM
`

// startPeer starts one of peers in front of an upstream and waits until it serves.
func startPeer(ctx context.Context, name, dir, upstream string) (*peer, error) {
	p := &peer{name: name, exited: make(chan error, 1)}
	for _, address := range []*string{&p.address, &p.secure} {
		free, err := freeAddress()
		if err != nil {
			return nil, err
		}
		*address = free
	}
	for _, of := range peers {
		if of.name != name {
			continue
		}
		file := filepath.Join(dir, name+".conf")
		if err := os.WriteFile(file, []byte(p.filled(of.template, dir, upstream)), 0o600); err != nil {
			return nil, err
		}
		p.command = exec.Command(name, of.args(file)...)
	}
	p.command.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	p.command.SysProcAttr = ownGroup()
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w: `make bench-tools` installs it", name, err)
	}
	go func() { p.exited <- p.command.Wait() }()
	if err := errors.Join(answers(ctx, p.address), answersTLS(ctx, p.secure)); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), p.stop())
	}
	return p, nil
}

func (p *peer) filled(template, dir, upstream string) string {
	ip, plain, _ := net.SplitHostPort(p.address)
	_, secure, _ := net.SplitHostPort(p.secure)
	return strings.NewReplacer("DIR", dir, "UPSTREAM", upstream, "SECUREHOST", secured, "SECUREPORT",
		secure, "SECURE", p.secure,
		"PLAINPORT", plain, "PLAIN", p.address, "HOST", proxied, "IP", ip).Replace(template)
}

// stop ends the process and waits for it.
func (p *peer) stop() error {
	if p == nil {
		return nil
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
		return nil
	case <-time.After(20 * time.Second):
		_ = p.command.Process.Kill()
		<-p.exited
		return fmt.Errorf("%s did not stop in 20 s", p.name)
	}
}

// answers waits until a proxy serves the host in plain text.
func answers(ctx context.Context, address string) error {
	return awaitServed(ctx, address, func() bool {
		body, err := fetch(ctx, address)
		return err == nil && body != ""
	})
}

// answersTLS waits until a proxy serves the host over TLS, with HTTP/2.
func answersTLS(ctx context.Context, address string) error {
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // the certificate is this run's own
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	defer transport.CloseIdleConnections()
	return awaitServed(ctx, address, func() bool {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+secured+"/", http.NoBody)
		if err != nil {
			return false
		}
		got, err := transport.RoundTrip(request)
		if err != nil {
			return false
		}
		defer got.Body.Close()
		return got.StatusCode == http.StatusOK && got.ProtoMajor == 2
	})
}

func awaitServed(ctx context.Context, address string, serves func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin,
		fmt.Errorf("waited %s for %s to serve", readyWithin, address))
	defer cancel()
	return every(ctx, 20*time.Millisecond, func() (bool, error) { return serves(), nil })
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
