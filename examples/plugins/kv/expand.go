package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// port is where the server listens.
const port = 6380

// macro is the input of expand, which Tend writes on its stdin.
type macro struct {
	Kind  string `json:"kind"`
	Scope string `json:"scope"`
	Name  string `json:"name"`
	Spec  spec   `json:"spec"`
	// Config is the macro's bucket, merged with its scope's.
	Config map[string]string `json:"config"`
}

// spec holds the fields of a kv block.
type spec struct {
	Image string `json:"image"`
	// Command of the image. Default: its own.
	Command  []string          `json:"command"`
	Replicas int               `json:"replicas"`
	Env      map[string]string `json:"env"`
	// Limit is the memory the server may use for values.
	Limit string `json:"limit"`
}

type manifest struct {
	Kind  string         `json:"kind"`
	Scope string         `json:"scope"`
	Name  string         `json:"name"`
	Spec  map[string]any `json:"spec"`
}

// expand is a function of what it is given: a dry run calls it too, so it does nothing but answer.
func expand(_ []string, stdin io.Reader) (any, error) {
	var m macro
	if err := json.NewDecoder(stdin).Decode(&m); err != nil {
		return nil, fmt.Errorf("read the macro: %w", err)
	}
	switch {
	case m.Scope == "":
		return nil, fmt.Errorf(`kv takes two labels: kv "scope" "name"`)
	case m.Spec.Image == "":
		return nil, fmt.Errorf("image is required")
	case m.Spec.Replicas < 0:
		return nil, fmt.Errorf("replicas: %d is less than 0", m.Spec.Replicas)
	}
	if m.Spec.Replicas == 0 {
		m.Spec.Replicas = 1
	}
	if m.Spec.Limit == "" {
		m.Spec.Limit = "64mb"
	}
	answer := map[string]any{"manifests": []manifest{settings(m), server(m)}}
	if m.Config["KV_SEED"] == "" {
		// The first time, and then never again: the next expand finds it in its config. A real plugin makes a password so.
		answer["actions"] = []map[string]any{{
			"type": "config_set", "scope": m.Scope, "name": m.Name, "kv": map[string]string{"KV_SEED": m.Scope + "-" + m.Name},
		}}
	}
	return answer, nil
}

func settings(m macro) manifest {
	text := fmt.Sprintf("port %d\nlimit %s\n", port, m.Spec.Limit)
	return manifest{Kind: "asset", Scope: m.Scope, Name: m.Name,
		Spec: map[string]any{"files": map[string]string{"conf": text}}}
}

func server(m macro) manifest {
	env := map[string]string{"PORT": fmt.Sprint(port)}
	for name, value := range m.Spec.Env {
		env[name] = value
	}
	out := map[string]any{
		"image": m.Spec.Image, "replicas": m.Spec.Replicas, "env": env,
		"volumes":       []string{"${asset." + m.Scope + "." + m.Name + ".conf}:/etc/kv.conf"},
		"volume_claims": []map[string]string{{"name": "data", "mount_path": "/data"}},
	}
	if len(m.Spec.Command) > 0 {
		out["command"] = m.Spec.Command
	}
	return manifest{Kind: "statefulset", Scope: m.Scope, Name: m.Name, Spec: out}
}
