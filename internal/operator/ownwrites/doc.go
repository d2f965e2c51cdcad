// Package ownwrites lets the reads of a client that sees its own writes go on after its cache has lost events.
//
// Such a read of controller-runtime waits until a handler of the cache was called with the version of the client's last
// write, or a later one. A cache whose watch has expired lists the objects again. Then no handler gets the version of
// what was deleted meanwhile, nor a deletion of what was also created again: the reads would wait until another object
// of the kind changes, or forever. Informers calls the handlers with the versions that the caches have reached.
//
// Example:
//
//	informers := &ownwrites.Informers{}
//	options.Cache.NewInformer = informers.New
//	made, err := ctrl.NewManager(config, options)
//	…
//	err = made.Add(informers)
package ownwrites
