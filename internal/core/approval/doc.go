// Package approval makes and checks claims: proofs that a person approved one operation. A claim is a line of text,
//
//	vws1.<body>.<digest>
//
// whose body is JSON with sorted keys and no spaces, in base64 for URLs without padding, and whose digest is the
// HMAC-SHA256 of the body by a secret that the control plane and the operator share, in lower-case hexadecimal digits.
//
// The control plane signs claims, and the operator verifies them:
//
//	text, err := approval.Sign(approval.Claim{Operation: "restore", Expires: end.Unix()}, secret)
//	claim, err := approval.Verify(text, secret, approval.Operation{Name: "restore"}, now)
package approval
