// Package boundary decides what a node may read, write and claim.
//
// A node may be hostile: everything that it says about itself is a claim. The rules here go by what the control plane
// asked of the node, declared or assigned, and never by what the node says. Those who serve nodes call them, and a node
// calls them again about what it learns of other nodes. docs/operate/security.md has them as tables.
package boundary
