// Package kubetest starts a real Kubernetes API server for tests: kube-apiserver as built by `make kube-apiserver`, with
// Tend's embedded etcd as its storage, on a loopback address of its own. A test binary has one, and each test a namespace.
//
// There is no other controller: nothing collects garbage, no namespace is ever deleted, no Job runs. Tests play the
// controllers whose objects the operator creates. What was written by whom is read from the API server's audit log.
//
// Example:
//
//	func TestMain(m *testing.M) { os.Exit(kubetest.Main(m, kubetest.Tend, kubetest.Flux)) }
//
//	func TestX(t *testing.T) {
//		server := kubetest.Shared()
//		namespace := server.Namespace(t)
//		…
//	}
package kubetest
