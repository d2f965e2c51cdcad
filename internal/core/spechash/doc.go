// Package spechash computes the hash that decides whether a change of a spec replaces containers.
//
// The hash covers what was declared, before any default is filled in, any limit is clamped and any alias is resolved.
// So an upgrade of Tend that changes a default rolls nothing. Lists whose order means nothing (networks, hosts,
// capabilities) are sorted first; if order means something (ports, command, volumes) it counts. A field that holds its
// zero value is the same as one that was left out.
//
// Every field of a spec is either in the hash or in the table of excluded fields, each with its reason; a test fails on
// a field that is in neither. The version of the form is stored with each hash, and newer code can compute older forms.
package spechash
