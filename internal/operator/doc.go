// Package operator is the process tend-operator: the manager with its cache, leader election, metrics and health
// checks, and its controllers. The packages below decide what each controller does.
//
// The specs of applications and operations are written by package link alone, which applies what the control plane
// delivers and is the only one to speak with it. The operator keeps all its state in the Kubernetes cluster.
//
// The markers +kubebuilder:rbac, beside the code that needs them, declare what the operator may do in a cluster. `make
// generate` generates the roles in deploy/operator/rbac from them. A blank line separates a marker from the next
// declaration: the generator doesn't read markers in doc comments.
package operator

//go:generate go tool -modfile=../../tools/kubegen/go.mod controller-gen rbac:roleName=tend-operator paths=./... output:rbac:dir=../../deploy/operator/rbac
//go:generate go tool -modfile=../../tools/kubegen/go.mod controller-gen webhook paths=./... output:webhook:dir=../../deploy/operator/webhook
