package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// proxied is the host that proxies are asked for.
const proxied = "app.bench"

// proxy is a peer of the ingress: a process of this run, with a config of its own, that serves one upstream.
type proxy struct {
	name    string
	address string
	command *exec.Cmd
	exited  chan error
}

// startNginx starts Debian's nginx as its documentation says a proxy is set up: kept connections to the upstream, and the
// headers that Tend adds too.
func startNginx(ctx context.Context, dir, upstream string) (*proxy, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`daemon off; worker_processes auto; pid %[1]s/nginx.pid; error_log %[1]s/nginx.log;
events { worker_connections 8192; }
http {
  access_log off; keepalive_requests 1000000;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  upstream pod { server %[2]s; keepalive 256; keepalive_requests 1000000; }
  server {
    listen %[3]s backlog=4096; server_name %[4]s;
    location / {
      proxy_pass http://pod; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Real-IP $remote_addr;
    }
  }
}
`, dir, upstream, address, proxied)
	file, err := written(dir, "nginx.conf", config)
	if err != nil {
		return nil, err
	}
	return startProxy(ctx, "nginx", address, dir, "-c", file)
}

// startCaddy starts Debian's Caddy with what one line of its config makes of it.
func startCaddy(ctx context.Context, dir, upstream string) (*proxy, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf("{\n\tadmin off\n\tauto_https off\n}\nhttp://%s:%s {\n\tbind %s\n\treverse_proxy %s\n}\n", proxied, port, host, upstream)
	file, err := written(dir, "Caddyfile", config)
	if err != nil {
		return nil, err
	}
	return startProxy(ctx, "caddy", address, dir, "run", "--adapter", "caddyfile", "--config", file)
}

func written(dir, name, text string) (string, error) {
	file := filepath.Join(dir, name)
	return file, os.WriteFile(file, []byte(text), 0o644)
}

func startProxy(ctx context.Context, name, address, dir string, args ...string) (*proxy, error) {
	p := &proxy{name: name, address: address, command: exec.Command(name, args...), exited: make(chan error, 1)}
	p.command.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	p.command.SysProcAttr = ownGroup()
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w: `make bench-tools` installs it", name, err)
	}
	go func() { p.exited <- p.command.Wait() }()
	if err := answers(ctx, address); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), p.stop())
	}
	return p, nil
}

// stop ends the process and waits for it.
func (p *proxy) stop() error {
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

// answers waits until a proxy serves the host.
func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("waited %s for %s to serve", readyWithin, address))
	defer cancel()
	return every(ctx, 20*time.Millisecond, func() (bool, error) {
		body, err := fetch(ctx, address)
		return err == nil && body != "", nil
	})
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
