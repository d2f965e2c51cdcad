// Package delay waits for a time that a context may end early. How long, and what follows, its callers say.
//
//	if err := delay.For(ctx, time.Second); err != nil {
//		return err // ctx ended first
//	}
package delay
