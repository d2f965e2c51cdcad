package main

import (
	"fmt"
	"io"
	"slices"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	"sigs.k8s.io/yaml"
)

const releaseName = "tend-operator"

// release does what the same command of helm does to a cluster, with KUBECONFIG: install, upgrade or uninstall.
func release(args []string, in io.Reader, out io.Writer) error {
	verb, folder, namespace, options := args[0], args[1], args[2], args[3:]
	kube.ManagedFieldsManager = "helm"
	settings := cli.New()
	settings.SetNamespace(namespace)
	cluster := action.NewConfiguration()
	if err := cluster.Init(settings.RESTClientGetter(), namespace, "secret"); err != nil {
		return err
	}
	if verb == "uninstall" {
		run := action.NewUninstall(cluster)
		run.WaitStrategy = kube.HookOnlyStrategy
		_, err := run.Run(releaseName)
		return err
	}
	chart, err := loader.Load(folder)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(text, &values); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	has := func(option string) bool { return slices.Contains(options, option) }
	if verb == "upgrade" {
		run := action.NewUpgrade(cluster)
		run.Namespace, run.WaitStrategy, run.ForceConflicts, run.TakeOwnership = namespace, kube.HookOnlyStrategy,
			has("--force-conflicts"), has("--take-ownership")
		_, err = run.Run(releaseName, chart, values)
		return err
	}
	run := action.NewInstall(cluster)
	run.ReleaseName, run.Namespace, run.CreateNamespace, run.WaitStrategy = releaseName, namespace, true,
		kube.HookOnlyStrategy
	run.ForceConflicts, run.TakeOwnership, run.SkipCRDs = has("--force-conflicts"),
		has("--take-ownership"), has("--skip-crds")
	if _, err = run.Run(chart, values); err == nil {
		_, err = fmt.Fprintln(out, "installed")
	}
	return err
}
