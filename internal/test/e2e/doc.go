// Package e2e tests what users live through, on the real parts: the binary as it is built, its embedded etcd, and the
// real Docker engine.
//
// It decides nothing and holds no code but tests (build tag integration). Every test has a server of its own, with a
// root, a network and a scope of its own, and removes all of it again, also when it fails; foreign containers are not
// touched. What the parts do alone is proved beside them; here stands what they do together.
package e2e
