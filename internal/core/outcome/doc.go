// Package outcome says what has become of a write: whether its object is as declared, still on its way, failed, or held
// until someone acts. It is the one place where the conditions of objects add up to an answer: the server gives it to
// those who wait for a write.
//
//	outcomes := outcome.Judge(awaited, observe)
//
// It must not read the store or a clock.
package outcome
