// Package client calls a Tend server's API.
//
// It decides where the server is (Discover) and how a stream that was cut goes on; everything else it hands through.
// Errors of the server are *api.Problem; a server that can't be reached is *UnreachableError. Nothing is retried but a
// watch, and that only where nothing is lost by it.
//
//	c, err := client.New(client.Discover(os.Getenv))
//	pods, err := c.Pods(ctx, client.PodFilter{Scope: "prod", Name: "web"})
package client
