// Package compat holds what users of the predecessor have: its plugins.
//
// What a plugin asks for is done through the verbs, with the rights of who called it.
package compat
