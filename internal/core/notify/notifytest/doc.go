// Package notifytest lets tests compare what people are sent with the table of docs/use/kinds/sink.md.
//
// A Pager is a sink with default settings. It is given each write of an object's status, as a controller makes it, and
// returns the subject of the message that people get. Check compares that with the row of the situation.
//
//	text, err := os.ReadFile(notifytest.File)
//	page, pager := notifytest.PageOf(t, text, err), notifytest.New()
//	pager.Write(object, status)
//	page.Check(t, "a node is lost", pager.Send())
package notifytest
