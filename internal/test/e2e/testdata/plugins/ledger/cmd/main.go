// Command ledger is a plugin as other authors write them: one program, an alias, and only the older names of variables
// and paths.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

type table = map[string]any

func main() {
	data, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		_ = json.NewEncoder(os.Stderr).Encode(table{"status": "error", "error": err.Error()})
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(table{"status": "ok", "data": data})
}

func run(command string, args []string) (any, error) {
	var in struct {
		Plugin, Command, Kind, Scope, Name string
		Controller                         string `json:"controller_url"`
		Dir                                string `json:"plugin_dir"`
		Node                               string `json:"node_name"`
		Spec                               table
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		return nil, err
	}
	if command == "expand" {
		return []table{{"kind": "deployment", "name": in.Name,
			"spec": table{"image": in.Spec["image"], "env": in.Spec["env"]}}}, nil
	}
	if in.Plugin != "lg" || in.Command != command || in.Dir != os.Getenv("VOODU_PLUGIN_DIR") ||
		in.Node != os.Getenv("VOODU_NODE") {
		return nil, fmt.Errorf("the context is %+v", in)
	}
	switch command {
	case "sh":
		return actions(table{"type": "exec_local", "command": []string{"sh", "-c", "echo at the terminal; exit " + args[0]}}),
			nil
	case "backups:download":
		file := filepath.Join(in.Dir, "dump")
		if err := os.WriteFile(file, []byte("all of it"), 0o600); err != nil {
			return nil, err
		}
		return actions(table{"type": "fetch_file", "remote_path": file, "dest_path": args[0], "size_bytes": 9}), nil
	}
	scope, name, _ := strings.Cut(args[0], "/")
	switch command {
	case "backups:capture":
		job := table{"kind": "job", "scope": scope, "name": name + ".bk.b001",
			"spec": table{"image": args[1], "command": []string{"/server", "env"},
				"labels": table{"voodu.role": "backup"}, "successful_history_limit": 3, "failed_history_limit": 3}}
		return actions(table{"type": "apply_manifest", "scope": scope, "name": name + ".bk.b001", "manifest": job},
			table{"type": "run_job", "scope": scope, "name": name + ".bk.b001", "summary": "backing up " + args[0]}), nil
	case "backups:delete":
		return actions(table{"type": "delete_manifest", "kind": "job", "scope": scope, "name": name + ".bk.b001"}), nil
	case "expose":
		manifest, err := described(in.Controller, scope, name)
		if err != nil {
			return nil, err
		}
		manifest["spec"].(table)["env"] = table{"EXPOSED": "yes"}
		return actions(table{"type": "apply_manifest", "scope": scope, "name": name, "manifest": manifest}), nil
	}
	return nil, fmt.Errorf("unknown command %s", command)
}

func actions(list ...table) table { return table{"message": "done", "actions": list} }

// described returns the stored manifest of an object, with the stamps of its assets.
func described(url, scope, name string) (table, error) {
	response, err := http.Get(url + "/describe?kind=deployment&scope=" + scope + "&name=" + name)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	var answer struct{ Data struct{ Manifest table } }
	if err := json.Unmarshal(text, &answer); err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%d %s: %v", response.StatusCode, text, err)
	}
	return answer.Data.Manifest, nil
}
