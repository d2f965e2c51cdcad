package prober

// queue is a heap of pods by when they are due; each knows its place.
type queue []*pod

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	one := x.(*pod)
	one.place = len(*q)
	*q = append(*q, one)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	one := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	one.place = -1
	return one
}

// lane bounds how many attempts of a kind run at once; the others wait in order. Its prober's lock guards it.
type lane struct {
	limit   int
	running int
	waiting []func()
}

func (l *lane) enter(begin func()) {
	if l.running >= l.limit {
		l.waiting = append(l.waiting, begin)
		return
	}
	l.running++
	begin()
}

// leave passes the place to the one that has waited longest.
func (l *lane) leave() {
	if len(l.waiting) == 0 {
		l.running--
		return
	}
	next := l.waiting[0]
	l.waiting = l.waiting[1:]
	next()
}
