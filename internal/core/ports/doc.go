// Package ports computes which ports of the host the containers of a spec occupy, and which of them two containers
// can't both have.
//
// The verbs refuse a manifest by it, and the scheduler places tasks by it. There is one rule, so that what one accepts
// the other can place:
//
//	ports.Fixed(spec)  // "3000:80" and docker_options "-p 3000:80" both fix port 3000
//
// It sees only specs: whether some other program holds a port is known only when a container is started.
package ports
