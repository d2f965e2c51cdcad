// Package compat keeps features of the predecessor working: its plugins, in the folder plugin.
//
// It decides how a plugin is called and which of its answers are valid. It stores nothing itself: plugin/broker
// performs what a plugin requests by the verbs of internal/control, with the rights of the user who called the plugin.
package compat
