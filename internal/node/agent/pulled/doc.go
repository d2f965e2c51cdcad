// Package pulled removes the images that Tend pulled to this machine and that nothing needs any more.
//
// Each pull that brings an image to the machine is recorded in a ledger (internal/platform/retention), by its reference
// and the image's id; what was there before is not. Collect compares the ledger with what the engine has and what the
// control plane refers to, and does what internal/core/pulled decides. A pull whose record is lost costs disk space and
// nothing else: what is not recorded is never removed.
package pulled
