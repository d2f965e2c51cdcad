package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// linkedPackage is a package of the binary, as `go list` prints it. Module is nil for the standard library.
type linkedPackage struct {
	Dir    string
	Module *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// list returns the packages that a command links, for the platform and with the settings of the environment.
func list(command string) ([]linkedPackage, error) {
	var stderr bytes.Buffer
	run := exec.Command("go", "list", "-deps", "-json=Dir,Module", command)
	run.Stderr = &stderr
	output, err := run.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w: %s", command, err, &stderr)
	}
	var linked []linkedPackage
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var one linkedPackage
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return linked, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list %s: %w", command, err)
		}
		linked = append(linked, one)
	}
}

// module is a linked module, with the paths of its licence files.
type module struct {
	name, version string
	files         []string
}

// collect returns the modules of packages with their licence files. A module without one is an error: it must not be
// redistributed.
func collect(linked []linkedPackage) ([]module, error) {
	found, standard := map[string]*module{}, false
	for _, p := range linked {
		switch {
		case p.Module == nil:
			standard = true
			continue
		case p.Module.Main:
			continue
		}
		m := found[p.Module.Path]
		if m == nil {
			m = &module{name: p.Module.Path, version: p.Module.Version}
			found[p.Module.Path] = m
		}
		// A folder below a module may be of another origin, with a licence of its own.
		for folder := p.Dir; strings.HasPrefix(folder, p.Module.Dir); folder = filepath.Dir(folder) {
			m.files = append(m.files, licencesIn(folder)...)
		}
	}
	modules, err := complete(found)
	if err != nil || !standard {
		return modules, err
	}
	library, err := standardLibrary(found)
	return append([]module{library}, modules...), err
}

// standardLibrary returns Go's own library as a module. A distribution's package of Go may lack the licence file; the
// modules that the Go project publishes have the same licence.
func standardLibrary(found map[string]*module) (module, error) {
	library := module{name: "Go's standard library", version: runtime.Version(), files: licencesIn(goRoot())}
	if sibling := found["golang.org/x/sys"]; len(library.files) == 0 && sibling != nil {
		library.files = sibling.files
	}
	if len(library.files) == 0 {
		return module{}, fmt.Errorf("%s has no licence file", goRoot())
	}
	return library, nil
}

func goRoot() string {
	output, _ := exec.Command("go", "env", "GOROOT").Output() // without an answer no licence is found, which is reported
	return strings.TrimSpace(string(output))
}
