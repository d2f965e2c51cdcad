// Command demo shows Tend with a Kubernetes cluster on this machine: `tend apply` of an ApplicationInstance becomes a
// HelmRelease, and its condition comes back to `tend get`. The Kubernetes API server, its etcd, tend-operator and `tend
// server` are real. No kubelet and no Flux run: this program plays Flux, and says so.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	tend := flag.String("tend", "bin/tend", "the tend binary")
	operator := flag.String("operator", "bin/tend-operator", "the tend-operator binary")
	flag.Parse()
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *tend, *operator); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, tend, operator string) (err error) {
	d, err := newDemo(tend, operator)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.cleanUp(err == nil)) }()
	for _, step := range []func(context.Context) error{
		d.startKubernetes, d.startTend, d.register, d.startOperator, d.deploy, d.remove,
	} {
		if err := step(ctx); err != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	say("The demo is complete: all processes end now")
	return nil
}

// startKubernetes starts an API server with the operator's and Flux's kinds, and a namespace for the operator.
func (d *demo) startKubernetes(ctx context.Context) error {
	say("A Kubernetes API server starts, with the operator's kinds and Flux's. Neither a kubelet nor Flux runs:")
	say("this program plays Flux, by writing the status that Flux would write")
	if err := d.startServer(ctx); err != nil {
		return err
	}
	fmt.Println("kube-apiserver serves", d.kubernetes.Config.Host)
	for _, name := range []string{operatorNamespace, "shop"} {
		if err := d.createNamespace(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// startTend starts Tend's server, which the operator will ask for jobs.
func (d *demo) startTend(ctx context.Context) error {
	say("Tend's server starts: operators connect to its listener for nodes")
	err := d.start("server", d.tend, nil, "server", "--root", d.root("server"), "--no-agent", "--http", "off", "--ingress-http", "off", "--ingress-https", "off",
		"--node-listen", d.listen)
	if err != nil {
		return err
	}
	return d.until(ctx, "Tend answers", func(context.Context) bool { return d.tendCommand("clusters").Run() == nil })
}

// register declares the cluster in Tend, and creates the printed objects in Kubernetes.
func (d *demo) register(ctx context.Context) error {
	say("Tend learns of the cluster, and prints the Secret and the Cluster that let the operator register")
	fmt.Println("$ tend clusters add demo | kubectl apply -f -")
	manifests, err := d.tendCommand("clusters", "add", "demo").Output()
	if err != nil {
		return fmt.Errorf("tend clusters add: %w", err)
	}
	return d.create(ctx, manifests)
}

// startOperator starts the operator as a process, and waits until Tend hears from it.
func (d *demo) startOperator(ctx context.Context) error {
	say("The operator starts, registers, and asks Tend for jobs")
	config := d.root("kubeconfig")
	if err := d.kubernetes.WriteKubeconfig(config, "tend-operator"); err != nil {
		return err
	}
	err := d.start("operator", d.operator, []string{"KUBECONFIG=" + config}, "--namespace", operatorNamespace, "--health-probe-bind-address", "0")
	if err != nil {
		return err
	}
	if err := d.until(ctx, "the cluster is connected", d.connected); err != nil {
		return err
	}
	return d.show("clusters")
}

// deploy applies an ApplicationInstance in Tend, plays Flux, and shows the result on both sides.
func (d *demo) deploy(ctx context.Context) error {
	say("tend apply: it ends when the release is ready in the cluster")
	file := d.root("web.hcl")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		return err
	}
	fmt.Print(manifest)
	flux, stop := context.WithCancel(ctx)
	played := make(chan error, 1)
	go func() { played <- d.playFlux(flux) }()
	err := d.show("apply", "-f", file)
	stop()
	if err := errors.Join(err, <-played); err != nil {
		return err
	}
	say("In Kubernetes there is a HelmRelease, with the chart's source:")
	if err := d.printRelease(ctx); err != nil {
		return err
	}
	say("And its condition is in Tend:")
	if err := d.show("get", "applicationinstances"); err != nil {
		return err
	}
	return d.show("describe", "applicationinstance", "shop/web")
}

// remove deletes the instance in Tend, and waits until it is gone in Kubernetes.
func (d *demo) remove(ctx context.Context) error {
	say("tend delete uninstalls it")
	if err := d.show("delete", "applicationinstance", "shop/web"); err != nil {
		return err
	}
	return d.until(ctx, "the HelmRelease is gone", func(ctx context.Context) bool { return d.gone(ctx) })
}
