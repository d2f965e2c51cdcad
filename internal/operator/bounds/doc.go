// Package bounds decides what an operator may work on: which namespaces, whose objects, and which charts. The
// controllers and the admission webhooks ask it, and so agree.
package bounds
