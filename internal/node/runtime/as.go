package runtime

// As finds the first runtime of type T inside decorators, for abilities beyond Runtime. A decorator lets As through by
// a method Unwrap.
func As[T any](r Runtime) (found T, ok bool) {
	for r != nil {
		if found, ok = r.(T); ok {
			return found, true
		}
		wrapped, is := r.(interface{ Unwrap() Runtime })
		if !is {
			return found, false
		}
		r = wrapped.Unwrap()
	}
	return found, false
}
