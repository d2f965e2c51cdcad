// Package operator is the process tend-operator: the manager with its cache, leader election, metrics and health checks,
// and the controllers that it runs. What each controller decides is in the packages below.
//
// What they may do in a cluster is declared beside the code that does it, by the markers +kubebuilder:rbac. The roles in
// deploy/operator/rbac are made from them, by `make generate`. A blank line keeps them out of the comment of what follows, where they are not read.
package operator

//go:generate go tool -modfile=../../tools/kubegen/go.mod controller-gen rbac:roleName=tend-operator paths=./... output:rbac:dir=../../deploy/operator/rbac
//go:generate go tool -modfile=../../tools/kubegen/go.mod controller-gen webhook paths=./... output:webhook:dir=../../deploy/operator/webhook
