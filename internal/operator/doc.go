// Package operator is the process tend-operator: the manager with its cache, leader election, metrics and health checks,
// and the controllers that it runs. What each controller decides is in the packages below.
package operator
