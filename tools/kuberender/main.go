// Command kuberender prints the objects of an installation of the operator as YAML, rendered by Helm's or Kustomize's
// own library, or lets Helm's library install them. Tests apply the objects to an API server. It is a module of its
// own, so that neither library gets into Tend.
package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "kuberender:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	switch {
	case len(args) == 2 && args[0] == "kustomize":
		return kustomize(args[1], out)
	case len(args) == 3 && args[0] == "helm":
		return helm(args[1], args[2], in, out)
	case len(args) > 3 && args[0] == "release":
		return release(args[1:], in, out)
	}
	return errors.New("usage: kuberender kustomize FOLDER | kuberender helm CHART NAMESPACE <VALUES | " +
		"kuberender release install|upgrade|uninstall CHART NAMESPACE [OPTIONS OF HELM] <VALUES")
}

func kustomize(folder string, out io.Writer) error {
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return err
	}
	text, err := made.AsYaml()
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}

// helm prints the CRDs first, as an installation has them.
func helm(folder, namespace string, in io.Reader, out io.Writer) error {
	chart, err := loader.Load(folder)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	given := map[string]any{}
	if err := yaml.Unmarshal(text, &given); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	values, err := util.ToRenderValues(chart, given,
		common.ReleaseOptions{Name: "tend-operator", Namespace: namespace, Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return err
	}
	rendered, err := engine.Render(chart, values)
	if err != nil {
		return err
	}
	for _, crd := range chart.CRDObjects() {
		fmt.Fprintf(out, "---\n%s\n", crd.File.Data)
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if _, err := fmt.Fprintf(out, "---\n%s\n", rendered[name]); err != nil {
			return err
		}
	}
	return nil
}
