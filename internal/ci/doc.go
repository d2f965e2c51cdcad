// Package distribution holds what makes Tend's packages and its image beside the binary: the programs below it write
// the manual pages and the notices of what is linked into the binary. They run when Tend is built and are no part of
// it.
package distribution
