// Package pki makes certificate authorities and signs certificates. Who gets one, for which names and for how long,
// its callers decide, and they store what must be stored.
//
//	root, err := pki.Found("tend", pki.Validity{From: now, Life: 20 * year, Skew: time.Hour})
//	web := &x509.Certificate{DNSNames: []string{"web.example"}}
//	der, key, err := root.Issue(web, pki.Validity{From: now, Life: 90 * day})
package pki
