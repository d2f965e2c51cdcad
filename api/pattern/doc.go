// Package pattern compiles regular expressions at their first use. A package that compiles them in its variables makes
// every command and every server pay for all of them: in time at the start, and in memory that nothing gives back.
//
//	var label = pattern.Lazy(`^[a-z]+$`)
//
//	func valid(text string) bool { return label().MatchString(text) }
package pattern
