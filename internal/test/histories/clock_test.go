//go:build integration

package histories

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// TestTheClockOfOneServerIsOff by three hours, also while its controllers run: running pods are untouched, applied
// changes are carried out, and histories are linearizable.
func TestTheClockOfOneServerIsOff(t *testing.T) {
	c := newTrio(t, func(r *role) { r.Agent = true })
	for _, skew := range []time.Duration{3 * time.Hour, -3 * time.Hour}[:rounds] {
		off := c.servers["b"]
		off.kill()
		off.role.Skew = skew
		off.start()
		c.ready(c.names...)
		c.leads("b")
		name := fmt.Sprintf("web-%d", hosts.Add(1))
		c.apply("a", name, 1)
		before := c.runs("c", name, 6)
		c.apply("c", name+"-later", 1)
		c.runs("a", name+"-later", 6)
		began, counted := time.Now(), &counts{}
		for _, wrong := range c.recordWhile(func() bool { return time.Since(began) < nodeTimeout/3 }, counted, nil) {
			t.Error(wrong)
		}
		c.until("a silent node would be lost", func() bool { return time.Since(began) > nodeTimeout+nodeTimeout/2 })
		t.Log(counted)
		if after := c.runs("c", name, 6); !slices.Equal(before, after) {
			t.Errorf("%v were running, and %v are", before, after)
		}
		c.apply("b", name, 2)
		c.until("the rollout of "+name+" ends",
			func() bool { return len(c.pods("a", name)) == 6 && !overlap(before, c.pods("a", name)) })
	}
}

// leads waits until a server's controllers run: it kills any other server that has them.
func (c *trio) leads(name string) {
	c.t.Helper()
	for range 20 {
		leader := c.led()
		if leader == name {
			return
		}
		c.servers[leader].kill()
		c.led(leader)
		c.servers[leader].start()
		c.ready(c.names...)
	}
	c.t.Fatalf("%s never leads", name)
}

// apply declares six pods through a server.
func (c *trio) apply(through, name string, version int) {
	c.t.Helper()
	spec, _ := json.Marshal(map[string]any{"image": fmt.Sprintf("web:%d", version), "replicas": 6,
		"strategy": map[string]any{"pause": "10ms", "monitor": "1ms"}})
	_, err := c.servers[through].client.Apply(context.Background(), api.ApplyRequest{Objects: []api.Object{
		{Kind: api.KindDeployment, Scope: scope, Name: name, Spec: spec}}})
	if err != nil {
		c.t.Fatal(err)
	}
}

// runs waits until so many pods are ready, as a server says, and returns their names.
func (c *trio) runs(asked, name string, count int) (pods []string) {
	c.t.Helper()
	c.until(fmt.Sprintf("%d pods of %s are ready", count, name), func() bool {
		pods = c.pods(asked, name)
		return len(pods) == count
	})
	return pods
}

// pods returns the ready pods of an object.
func (c *trio) pods(asked, name string) (out []string) {
	listed, err := c.servers[asked].client.Pods(context.Background(), client.PodFilter{Scope: scope, Name: name})
	if err != nil {
		return nil
	}
	for _, pod := range listed.Items {
		if pod.Live() && pod.Ready {
			out = append(out, pod.Name)
		}
	}
	slices.Sort(out)
	return out
}

func overlap(one, other []string) bool {
	return slices.ContainsFunc(one, func(name string) bool { return slices.Contains(other, name) })
}
