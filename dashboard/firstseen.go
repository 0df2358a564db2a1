package dashboard

import (
	"sync"
	"time"
)

// firstSeen remembers when this process first saw the problems of which the store does not know since when they are there.
type firstSeen struct {
	mu   sync.Mutex
	seen map[problemName]time.Time
}

// problemName says which problem it is, however it grows or shrinks.
type problemName struct{ kind, name, queue string }

func newFirstSeen() *firstSeen { return &firstSeen{seen: make(map[problemName]time.Time)} }

// note fills in the times that are missing, and forgets the problems that are gone.
func (f *firstSeen) note(now time.Time, problems []problemView) {
	f.mu.Lock()
	defer f.mu.Unlock()
	still := make(map[problemName]time.Time)
	for i := range problems {
		p := &problems[i]
		if !p.Since.IsZero() {
			continue
		}
		name := problemName{p.Kind, p.Name, p.Queue}
		at, known := f.seen[name]
		if !known {
			at = now
		}
		still[name] = at
		p.Since, p.FirstSeen = at, true
	}
	f.seen = still
}
