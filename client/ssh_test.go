package client

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSSHArguments(t *testing.T) {
	for address, want := range map[string]string{
		"ssh://host":                        "-- host tend dial-stdio",
		"ssh://me@host:2222/":               "-p 2222 -l me -- host tend dial-stdio",
		"ssh://me@[::1]":                    "-l me -- ::1 tend dial-stdio",
		"ssh://host/run/user/1/tend.sock":   "-- host tend --server unix:///run/user/1/tend.sock dial-stdio",
		"ssh://-oProxyCommand=x":            "",
		"ssh://-l@host":                     "",
		"ssh://me:secret@host":              "",
		"ssh://":                            "",
		"ssh://host/a;rm":                   "",
		"ssh://host/$(x)":                   "",
		"ssh://host?x=1":                    "",
		"ssh://ho%20st":                     "",
		"ssh://host:22x":                    "",
		"ssh://host/with%20a%20space/x":     "",
		"ssh://host/%0A":                    "",
		"ssh://me%0A@host":                  "",
		"ssh://me%20-oProxyCommand%3Dx@h/":  "",
		"ssh://host/var/lib/tend/tend.sock": "-- host tend --server unix:///var/lib/tend/tend.sock dial-stdio",
	} {
		parsed, err := url.Parse(address)
		var args []string
		if err == nil {
			args, err = sshArgs(parsed)
		}
		got := strings.Join(args, " ")
		if want == "" && err == nil || want != "" && !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, %v", address, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

// TestWhatSSHSays: the output of ssh becomes the error, since it names the cause.
func TestWhatSSHSays(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\necho 'Permission denied (publickey).' >&2\nexit 255\n"
	if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	c, err := New(Options{Server: "ssh://me@host"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Nodes(t.Context())
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "Permission denied (publickey).") {
		t.Errorf("%v", err)
	}
}

// TestWhatSSHLeavesBehind does not hold up its error, and a machine without ssh gets no advice to start a server.
func TestWhatSSHLeavesBehind(t *testing.T) {
	bin := t.TempDir()
	left := filepath.Join(bin, "left")
	script := "#!/bin/sh\nsleep 600 >/dev/null &\necho $! >" + left + "\necho gone >&2\nexit 255\n"
	if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		text, _ := os.ReadFile(left)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	c, err := New(Options{Server: "ssh://me@host"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var said *SSHError
	if _, err = c.Nodes(ctx); !errors.As(err, &said) || said.Said != "gone" {
		t.Errorf("%v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err = c.Nodes(ctx); !errors.As(err, &said) || !strings.Contains(err.Error(), "executable file not found") {
		t.Errorf("%v", err)
	}
}
