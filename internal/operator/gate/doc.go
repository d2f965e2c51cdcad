// Package gate says what an operator may work on: in which namespaces, on whose objects, and with which charts. It decides;
// the controllers and the admission webhooks ask it, and so say the same.
package gate
