// Package hollow is a container engine in memory: containers that run nothing but live as docker's would. They have
// restart policies with docker's backoff, can be stopped, killed and removed by hand, lose their engine and get it
// back, and report the events docker reports, in its order. Thousands of them fit in one test.
//
// An Engine is the machine, a Runtime a client of it: a test that crashes a server builds a new client over the same
// engine, as a restarted server finds the same containers. Time is the time package's, so everything runs under
// testing/synctest. It never decides when a container should run.
//
//	engine := hollow.NewEngine()
//	engine.AddImage("web:1")
//	rt := engine.Client("cluster-uid", "node-1")
//	...
//	engine.Kill("shop-web.1a2b3c4d", "SIGKILL")
package hollow
