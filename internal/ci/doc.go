// Package ci holds the programs that build, package and check Tend: the inputs of each check and whether they have
// changed, the packages that compile for other systems, the times of a run, manual pages, and the notices of what is
// linked. They run beside the product and are no part of it.
package ci
