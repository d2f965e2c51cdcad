// Package kubetest starts a real Kubernetes API server for tests: kube-apiserver as built by `make kube-apiserver`,
// stored in Tend's embedded etcd, on its own loopback address. A test binary has one server, and each test a namespace.
//
// No other controller runs: nothing collects garbage, namespaces are never deleted, Jobs never run. Tests play the
// controllers whose objects the operator creates. The API server's audit log shows who wrote what.
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
