package kubetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fluxModules are the modules with Flux's CRDs, and the checksums of their files. source-controller 1.10 needs Go 1.27.
var fluxModules = []struct{ module, sum string }{
	{"github.com/fluxcd/helm-controller@v1.6.1", "h1:b0XKTQCGlQy4nOGfEFMbn/e+/j9IMEHSDlKecbZkG9M="},
	{"github.com/fluxcd/source-controller@v1.9.0", "h1:5msg2yyjVYDULZos+2ve8MZzcSqTpusiXmrOeBhc9yY="},
}

// Flux returns the CRDs of Flux's helm-controller and source-controller from their modules. Their controllers don't
// run.
func Flux() (all []*unstructured.Unstructured, err error) {
	for _, pinned := range fluxModules {
		dir, err := downloaded(pinned.module, pinned.sum)
		if err != nil {
			return nil, err
		}
		objects, err := readFolder(filepath.Join(dir, "config", "crd", "bases"))
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// downloaded returns the folder of a module, which Go downloads into its cache the first time.
func downloaded(module, sum string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w: %s%s", module, err, out, stderr.Bytes())
	}
	var answer struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("go mod download %s: %w", module, err)
	}
	if answer.Sum != sum {
		return "", fmt.Errorf("go mod download %s: its checksum is %s, want the pinned %s", module, answer.Sum, sum)
	}
	return answer.Dir, nil
}
