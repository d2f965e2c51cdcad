// Package nextstep words the steps that several messages end with, so that the same words follow the same cause.
//
//	nextstep.GetReady("deployment/shop/db") // get deployment/shop/db ready; Tend then continues
//
// It decides nothing: which step helps, the package that knows the cause says.
package nextstep
