// Command kv is a plugin: a block `kv "scope" "name" { … }` in a manifest stands for a file of settings and a
// statefulset that mounts it, and `tend kv:link` gives its address to the apps that use it.
//
// It is small on purpose. Copy it to begin a plugin of your own; docs/use/plugins.md explains each step. Build it into
// the folder of its plugin.yml, and install that:
//
//	CGO_ENABLED=0 go build -o examples/plugins/kv/bin/kv ./examples/plugins/kv
//	tend plugins install ./examples/plugins/kv
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// envelope is every answer.
type envelope struct {
	Status string `json:"status"`
	Data   any    `json:"data,omitempty"`
	Error  string `json:"error,omitempty"`
}

func main() {
	answer, err := run(os.Args[1:], os.Stdin)
	if err != nil {
		_ = json.NewEncoder(os.Stderr).Encode(envelope{Status: "error", Error: err.Error()})
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(envelope{Status: "ok", Data: answer})
}

// commands are what the plugin does: the first argument names one.
var commands = map[string]func(args []string, stdin io.Reader) (any, error){
	"expand": expand, "link": link, "unlink": unlink, "info": info,
}

func run(args []string, stdin io.Reader) (any, error) {
	if len(args) == 0 || commands[args[0]] == nil {
		return nil, fmt.Errorf("there is no such command: see plugin.yml")
	}
	return commands[args[0]](args[1:], stdin)
}
