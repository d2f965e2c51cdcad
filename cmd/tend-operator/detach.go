package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator"
	"tend.dev/tend/internal/operator/detach"
)

// usage prints the program's behaviour without and with a command.
func usage() {
	fmt.Fprint(flag.CommandLine.Output(), "Usage: tend-operator [flags]          run the operator\n"+
		"       tend-operator detach [flags]   let applications run on without the operator\n\n")
	flag.PrintDefaults()
}

// runDetach unties the applications of a cluster, or of a namespace, from the operator.
func runDetach(args []string) error {
	opts := detach.Options{Now: time.Now(), Out: os.Stdout}
	flags := flag.NewFlagSet("detach", flag.ExitOnError)
	flags.StringVar(&opts.Namespace, "namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), "vworkspace-system"),
		"the operator's own namespace (POD_NAMESPACE)")
	flags.StringVar(&opts.In, "in", "", "the namespace whose objects are detached (default all, and the Clusters)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctrl.SetLogger(logr.Discard())
	config, err := connection()
	if err != nil {
		return err
	}
	scheme, err := operator.Scheme()
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to the Kubernetes API: %w", err)
	}
	return detach.Run(ctrl.SetupSignalHandler(), c, opts)
}
