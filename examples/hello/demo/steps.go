package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"tend.dev/tend/api"
)

// deploy declares three copies and asks each who it is.
func (d *demo) deploy(ctx context.Context) error {
	d.say("Declare three copies of examples/hello")
	if err := d.show(ctx, d.variants[0].String(), "apply", "-f", manifest); err != nil {
		return err
	}
	if err := d.show(ctx, "", "get", "pods"); err != nil {
		return err
	}
	d.say("They answer")
	return d.ask(ctx, 3, "version 1")
}

// kill ends one copy behind Tend's back and shows it come back.
func (d *demo) kill(ctx context.Context) error {
	pods, err := d.pods()
	if err != nil {
		return err
	}
	victim := pods[0]
	d.say("Kill %s behind Tend's back", victim.Name)
	if err := d.killPod(victim); err != nil {
		return err
	}
	began := time.Now()
	err = d.until(ctx, victim.Name+" runs again", func() bool {
		pods, err := d.pods()
		if err != nil || len(pods) < 3 {
			return false
		}
		for _, pod := range pods {
			if pod.Name == victim.Name {
				return pod.Ready && pod.Incarnations > victim.Incarnations
			}
		}
		return false
	})
	if err != nil {
		return err
	}
	fmt.Printf("healed, seen after %d ms\n", time.Since(began).Milliseconds())
	return d.ask(ctx, 3, "version 1")
}

// killPod does what a person with a shell would.
func (d *demo) killPod(pod api.Pod) error {
	if d.runtime == "docker" {
		fmt.Printf("$ docker rm -f %s\n", pod.Name)
		return exec.Command("docker", "rm", "-f", pod.Name).Run()
	}
	fmt.Printf("$ kill -9 %d\n", pod.PID)
	return syscall.Kill(pod.PID, syscall.SIGKILL)
}

// roll changes what the manifest takes and shows the slots turn one by one.
func (d *demo) roll(ctx context.Context) error {
	d.say("Roll to version 2: first what would happen, then the rollout")
	cmd := d.command("diff", "-f", manifest)
	cmd.Env = append(cmd.Env, d.variants[1].String())
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	fmt.Printf("$ %s tend diff -f %s\n", d.variants[1], manifest)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("tend diff: %w", err)
	}
	if err := d.show(ctx, d.variants[1].String(), "apply", "-f", manifest); err != nil {
		return err
	}
	if err := d.ask(ctx, 3, "version 2"); err != nil {
		return err
	}
	return d.show(ctx, "", "releases", "demo/hello")
}

func (d *demo) remove(ctx context.Context) error {
	d.say("Delete it")
	return d.show(ctx, "", "delete", "deployment", "demo/hello")
}

// ask calls every copy and demands an answer with the text.
func (d *demo) ask(ctx context.Context, copies int, text string) error {
	return d.until(ctx, fmt.Sprintf("%d copies answer %q", copies, text), func() bool {
		pods, err := d.pods()
		if err != nil || len(pods) != copies {
			return false
		}
		answers := ""
		for _, pod := range pods {
			answer, err := get(ctx, address(pod))
			if err != nil || !strings.Contains(answer, text) {
				return false
			}
			answers += fmt.Sprintf("%s  %s", address(pod), answer)
		}
		fmt.Print(answers)
		return true
	})
}

func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	return string(body), err
}

// cleanUp leaves the machine as it was, whatever happened before.
func (d *demo) cleanUp() error {
	if d.server != nil && d.server.Process != nil {
		_ = d.command("delete", "deployment", "demo/hello").Run() // it may be gone already
		_ = d.server.Process.Signal(syscall.SIGTERM)
		select {
		case <-d.exited:
		case <-time.After(40 * time.Second):
			_ = d.server.Process.Kill()
			<-d.exited
		}
	}
	if d.runtime == "docker" {
		_ = exec.Command("docker", "network", "rm", d.network()).Run()
		for _, image := range d.variants {
			_ = exec.Command("docker", "rmi", string(image)).Run()
		}
	}
	return os.RemoveAll(d.dir)
}
