// Package relay carries connections from the proxy of one node to a pod of another one.
//
// The engines of different machines give their containers the same addresses, and what was a pod's address a moment ago
// may be another pod's now. So a pod of another node is never asked by its address. The caller names the task and the
// port; the node of the pod looks whether it runs that task, whether the task may get requests, and whether an ingress
// leads to that port. Only then it connects, and from then on the connection is the pod's: a request reaches the pod
// that it was meant for, or fails before anything of it was sent.
//
// Both sides show their certificates as nodes of the cluster. The caller goes by the name in the certificate, never by
// the address that it dialled; the node takes connections of those alone that the servers let serve ingresses.
//
//	caller                                   node of the pod
//	  TLS 1.3, both with certificates  ───▶  who is it, and may it ask?
//	  {"task":"…","port":8080}         ───▶  which container is that now?
//	                                   ◀───  {} or {"error":"…"}
//	  bytes of the connection         ◀───▶  bytes of the connection
//
// A head is JSON, with its length before it in two bytes. A caller that sends requests of HTTP says so in its head:
// while the relay ends, it adds "Connection: close" to their answers. It changes no other bytes.
package relay
