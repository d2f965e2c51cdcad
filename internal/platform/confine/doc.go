// Package confine makes HTTP transports for calls on behalf of people who may not use this machine: they reach neither
// it, at whichever address of its interfaces, nor its link, nor its containers or other networks of its own. Which
// addresses these are, core/source decides; every connection is checked, so no name and no redirect leads there.
// Programs that connect by themselves are given addresses (Lookup). A redirect names no URL to another host
// (WithoutReferer).
package confine
