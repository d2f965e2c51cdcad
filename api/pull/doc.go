// Package pull holds what passes between a server and the operator of a Kubernetes cluster, which asks it for jobs: the
// version 1 of the agent protocol, JSON over HTTPS. Unknown fields are ignored. It decides nothing.
//
// Sources: facts/vworkspace.md, section 11.
package pull
