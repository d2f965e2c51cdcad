// Package approval makes and checks claims: proofs that a person approved one operation. A claim is a line of text,
//
//	vws1.<body>.<digest>
//
// whose body is JSON with sorted keys and no spaces, in base64 for URLs without padding, and whose digest is the
// HMAC-SHA256 of the body by a secret that the control plane and the operator share, in lower-case hexadecimal digits.
//
// It depends on the standard library alone: the control plane makes claims, and the operator checks them.
package approval
