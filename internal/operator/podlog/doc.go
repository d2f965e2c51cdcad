// Package podlog reads the output of an application's pods, when the control plane asks for it.
//
// A pod is the application's if Flux lists it among the objects of the release, or if its controller, that one's
// controller, and so on lead to such an object. Each step compares the uid with that of the existing object: a
// reference to nothing leads nowhere. Other pods of the namespace are never read.
//
// An answer is bounded: the newest lines are kept, and notes say what was left out. The package checks no signature and
// sends nothing. It reads with the rights of the optional role in deploy/operator/logs, and says so if they are
// missing.
//
//	reader := &podlog.Reader{Live: manager.GetAPIReader(), Open: podlog.Through(clientset)}
//	answer := reader.Answer(ctx, query)
package podlog
