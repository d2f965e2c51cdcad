package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// consumers is the key of the server's bucket that says who is linked.
const consumers = "KV_LINKED_CONSUMERS"

// call is the input of every other command, which Tend writes on its stdin.
type call struct {
	Plugin     string `json:"plugin"`
	Controller string `json:"controller_url"`
}

// ref is an object people name as scope/name.
type ref struct{ scope, name string }

func (r ref) String() string { return r.scope + "/" + r.name }

func refs(args []string, want string) ([]ref, error) {
	out := make([]ref, len(args))
	for i, arg := range args {
		scope, name, found := strings.Cut(arg, "/")
		if !found || scope == "" || name == "" {
			return nil, fmt.Errorf("%q is not a scope/name: want %s", arg, want)
		}
		out[i] = ref{scope, name}
	}
	if len(out) != len(strings.Fields(want)) {
		return nil, fmt.Errorf("want %s", want)
	}
	return out, nil
}

// link asks Tend for two changes: the consumer's KV_URL, and a note of it with the server. Tend does them in this
// order; the first one replaces the consumer's containers, the second one doesn't touch what runs.
func link(args []string, stdin io.Reader) (any, error) {
	return change(args, stdin, func(server, consumer ref, linked []string) ([]map[string]any, string) {
		if !slices.Contains(linked, consumer.String()) {
			linked = append(linked, consumer.String())
		}
		address := fmt.Sprintf("kv://%s.%s:%d", server.name, server.scope, port)
		return []map[string]any{
			{"type": "config_set", "scope": consumer.scope, "name": consumer.name, "kv": map[string]string{"KV_URL": address},
				"summary": fmt.Sprintf("set KV_URL of %s", consumer)},
			note(server, linked),
		}, fmt.Sprintf("%s uses %s now", consumer, server)
	})
}

func unlink(args []string, stdin io.Reader) (any, error) {
	return change(args, stdin, func(server, consumer ref, linked []string) ([]map[string]any, string) {
		linked = slices.DeleteFunc(linked, func(other string) bool { return other == consumer.String() })
		return []map[string]any{
			{"type": "config_unset", "scope": consumer.scope, "name": consumer.name, "keys": []string{"KV_URL"}},
			note(server, linked),
		}, fmt.Sprintf("%s doesn't use %s any more", consumer, server)
	})
}

func change(
	args []string, stdin io.Reader, decide func(server, consumer ref, linked []string) ([]map[string]any, string),
) (any, error) {
	named, err := refs(args, "SCOPE/NAME CONSUMER_SCOPE/NAME")
	if err != nil {
		return nil, err
	}
	config, err := bucket(stdin, named[0])
	if err != nil {
		return nil, err
	}
	actions, message := decide(named[0], named[1],
		strings.FieldsFunc(config[consumers], func(r rune) bool { return r == ',' }))
	return map[string]any{"message": message, "actions": actions}, nil
}

// note keeps who is linked. An empty value would be no value: the key goes then.
func note(server ref, linked []string) map[string]any {
	if len(linked) == 0 {
		return map[string]any{"type": "config_unset", "scope": server.scope, "name": server.name, "keys": []string{consumers},
			"skip_restart": true}
	}
	return map[string]any{"type": "config_set", "scope": server.scope, "name": server.name,
		"kv": map[string]string{consumers: strings.Join(linked, ",")}, "skip_restart": true}
}

func info(args []string, stdin io.Reader) (any, error) {
	named, err := refs(args, "SCOPE/NAME")
	if err != nil {
		return nil, err
	}
	var c call
	if err := json.NewDecoder(stdin).Decode(&c); err != nil {
		return nil, fmt.Errorf("read the call: %w", err)
	}
	var seen struct {
		Pods []struct {
			Name    string `json:"name"`
			Running bool   `json:"running"`
		} `json:"pods"`
	}
	query := url.Values{"kind": {"statefulset"}, "scope": {named[0].scope}, "name": {named[0].name}}
	if err := c.get("/describe?"+query.Encode(), &seen); err != nil {
		return nil, err
	}
	config, err := c.config(named[0])
	if err != nil {
		return nil, err
	}
	running := 0
	for _, pod := range seen.Pods {
		if pod.Running {
			running++
		}
	}
	return map[string]any{"message": fmt.Sprintf("%s: %d running\nlinked: %s", named[0], running, config[consumers])}, nil
}

// bucket is the config of an object, read by calling Tend back.
func bucket(stdin io.Reader, of ref) (map[string]string, error) {
	var c call
	if err := json.NewDecoder(stdin).Decode(&c); err != nil {
		return nil, fmt.Errorf("read the call: %w", err)
	}
	return c.config(of)
}

func (c call) config(of ref) (map[string]string, error) {
	var found struct {
		Vars map[string]string `json:"vars"`
	}
	query := url.Values{"scope": {of.scope}, "name": {of.name}}
	return found.Vars, c.get("/config?"+query.Encode(), &found)
}

// get calls Tend back while the command runs.
func (c call) get(path string, into any) error {
	client := http.Client{Timeout: 20 * time.Second}
	response, err := client.Get(c.Controller + path)
	if err != nil {
		return fmt.Errorf("call the server back: %w", err)
	}
	defer response.Body.Close()
	var answer struct {
		Status string          `json:"status"`
		Data   json.RawMessage `json:"data"`
		Error  string          `json:"error"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	if answer.Status != "ok" {
		return fmt.Errorf("%s", answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}
