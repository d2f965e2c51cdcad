package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/host"
)

// devDefaults are the flags whose default differs from `tend server`'s.
var devDefaults = map[string]string{"root": client.DevRoot, "http": "off", "ingress-http": "127.0.0.1:8080",
	"ingress-https": "127.0.0.1:8443"}

func (a *app) devCommand() *cobra.Command {
	var flags serverFlags
	command := &cobra.Command{
		Use:   "dev",
		Short: "run a private server and agent in one command, beside any other",
		Long: "Run a private server and agent: own state folder (./.tend unless --root or TEND_ROOT says otherwise), own network, no\n" +
			"TCP listener. Where no container engine answers it runs plain processes. Other commands in the folder find it, unless\n" +
			"another server is configured. What runs goes on when it ends; it says what that is.",
		Example: "  tend dev                        # in one terminal\n  tend apply -f web.hcl           # in another, in the same folder",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.LocalFlags()); err != nil {
				return err
			}
			return a.runDev(cmd.Context(), &flags)
		},
	}
	flags.add(command)
	for name, value := range devDefaults {
		if name == "root" && os.Getenv("TEND_ROOT") != "" {
			continue
		}
		flag := command.Flags().Lookup(name)
		flag.DefValue = value
		_ = flag.Value.Set(value)
	}
	command.Flags().Lookup("network").Usage = "`NAME` of the platform network (default: what the root was first used with, else tend-dev-…, after the root)"
	command.Flags().Lookup("runtime").Usage = "what runs containers, a `RUNTIME`: docker or process (default: what the root was first used with, else docker, or process where no engine answers)"
	command.Flags().VisitAll(func(flag *pflag.Flag) { flag.Hidden = flag.Hidden || strings.HasPrefix(flag.Name, "etcd-") })
	return command
}

func (a *app) runDev(ctx context.Context, flags *serverFlags) (err error) {
	o := &flags.options
	if o.Root, err = filepath.Abs(o.Root); err != nil {
		return err
	}
	if err := flags.check(); err != nil {
		return err
	}
	if err := host.Private(ctx, &o.Options); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "a private Tend in %s\n", o.Root)
	if foundHere(o.Root) {
		fmt.Fprintf(a.err, "other commands in %s use it; elsewhere: export TEND_ROOT=%s\n",
			filepath.Dir(o.Root), shellQuoted(o.Root))
	} else {
		fmt.Fprintf(a.err, "to use it from another terminal:\n  export TEND_ROOT=%s\n", shellQuoted(o.Root))
	}
	running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		a.sayLeft(o.Root)
		cancel(context.Cause(ctx))
	})()
	return flags.run(running)
}

// foundHere reports whether commands in the working directory will find a private server in root once it runs: no
// server is configured, and none runs on the machine.
func foundHere(root string) bool {
	here, err := filepath.Abs(client.DevRoot)
	if err != nil || root != here || os.Getenv("TEND_SERVER") != "" || os.Getenv("TEND_ROOT") != "" {
		return false
	}
	found := strings.TrimPrefix(client.Discover(os.Getenv).Server, "unix://")
	if found == filepath.Join(root, client.SocketName) {
		return true // the one of a server that ran before
	}
	_, err = os.Stat(found)
	return err != nil
}

// sayLeft prints the pods that keep running without the server, while the server still answers.
func (a *app) sayLeft(root string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	c, err := client.New(client.Options{Server: "unix://" + filepath.Join(root, client.SocketName)})
	if err != nil {
		return
	}
	defer c.Close()
	pods, err := c.Pods(ctx, client.PodFilter{})
	if err != nil {
		return // it was not up yet
	}
	var left []string
	for _, pod := range pods.Items {
		if pod.Live() {
			left = append(left, pod.Name)
		}
	}
	if len(left) == 0 {
		fmt.Fprintln(a.err, "no pod is left running")
		return
	}
	fmt.Fprintf(a.err, "left running: %s\n", strings.Join(left, ", "))
	fmt.Fprintln(a.err, "  `tend dev` in this folder takes them over again; to remove them: tend delete, while it runs")
}

// shellQuoted returns a path as a shell takes it.
func shellQuoted(path string) string {
	for _, r := range path {
		plain := r == '/' || r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' ||
			r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !plain {
			return fmt.Sprintf("%q", path)
		}
	}
	return path
}
