package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"sync"
	"time"
)

// How often a region is read: by itself, at most when the store is slow, and at least apart when somebody changes much.
const (
	watchEvery   = 2 * time.Second
	watchSlowest = 30 * time.Second
	watchApart   = 500 * time.Millisecond
)

// maxViewers is how many may listen at a time.
const maxViewers = 1000

// watcher reads what is being looked at, for all who look. One goroutine reads one region after the other; it begins with the first
// viewer and ends with the last.
type watcher struct {
	mu      sync.Mutex
	viewers int
	regions map[string]*region
	wake    chan struct{}
	stop    context.CancelFunc
}

func newWatcher(*handler) *watcher {
	return &watcher{regions: make(map[string]*region), wake: make(chan struct{}, 1)}
}

// source is where a region comes from. Sources with the same key are one region.
type source struct {
	key  string
	read func(context.Context) (reading, error)
}

// reading is what a region says, and the part of it whose change is worth an event, when that is not all.
type reading struct{ payload, mark any }

// region is what some viewers look at. The watcher's mutex guards it.
type region struct {
	source
	viewers  int
	interval time.Duration
	due      time.Time
	began    time.Time // when the latest read did
	hurried  bool      // since then
	latest   state
}

// state is what a region said last. Changed is closed when it says something else.
type state struct {
	version uint64 // 0 before the first read
	data    []byte
	id      string
	changed chan struct{}
}

// viewer is one who listens.
type viewer struct {
	watcher *watcher
	regions []*region
}

// join adds a viewer of some sources, or returns nil when there are too many.
func (w *watcher) join(sources ...source) *viewer {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.viewers >= maxViewers {
		return nil
	}
	v := &viewer{watcher: w}
	for _, s := range sources {
		r := w.regions[s.key]
		if r == nil {
			r = &region{source: s, interval: watchEvery, latest: state{changed: make(chan struct{})}}
			w.regions[s.key] = r
		}
		r.viewers++
		v.regions = append(v.regions, r)
	}
	if w.viewers++; w.viewers == 1 {
		var ctx context.Context
		ctx, w.stop = context.WithCancel(context.Background())
		go w.run(ctx)
	}
	w.nudge()
	return v
}

// leave removes the viewer.
func (v *viewer) leave() {
	w := v.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range v.regions {
		if r.viewers--; r.viewers == 0 {
			delete(w.regions, r.key)
		}
	}
	if w.viewers--; w.viewers == 0 {
		w.stop()
	}
}

// latest returns what the viewer's regions say, in the order in which they were joined.
func (v *viewer) latest() []state {
	v.watcher.mu.Lock()
	defer v.watcher.mu.Unlock()
	states := make([]state, len(v.regions))
	for i, r := range v.regions {
		states[i] = r.latest
	}
	return states
}

// hurry has everything read anew, soon.
func (w *watcher) hurry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.regions {
		r.hurried = true
		if soon := r.began.Add(watchApart); soon.Before(r.due) {
			r.due = soon
		}
	}
	w.nudge()
}

func (w *watcher) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run reads regions as they become due, until ctx ends with the last viewer.
func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		r, wait := w.next(ctx)
		if r != nil && wait <= 0 {
			w.refresh(ctx, r)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-w.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// next is the region that is due first, and in how long.
func (w *watcher) next(ctx context.Context) (first *region, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for _, r := range w.regions {
		if first == nil || r.due.Before(first.due) {
			first = r
		}
	}
	if first == nil || ctx.Err() != nil {
		return nil, watchSlowest
	}
	if wait = first.due.Sub(now); wait <= 0 {
		first.began, first.hurried = now, false
	}
	return first, wait
}

// refresh reads a region. One whose reads take long, or fail, is read less often.
func (w *watcher) refresh(ctx context.Context, r *region) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	got, err := guarded(limited, r.read)
	var data []byte
	var id string
	if err == nil {
		data, id, err = encode(r.key, got)
	}
	took := time.Since(began)

	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	switch {
	case err != nil, took > r.interval/4:
		r.interval = min(2*r.interval, watchSlowest)
	case took < r.interval/8:
		r.interval = max(r.interval/2, watchEvery)
	}
	if r.due = time.Now().Add(r.interval); r.hurried {
		r.due = began.Add(watchApart)
	}
	if err != nil || id == r.latest.id {
		return
	}
	close(r.latest.changed)
	r.latest = state{version: r.latest.version + 1, data: data, id: id, changed: make(chan struct{})}
}

// encode makes the data of an event, and an id that changes when it is worth another event.
func encode(key string, got reading) (data []byte, id string, err error) {
	if data, err = json.Marshal(got.payload); err != nil {
		return nil, "", err
	}
	marked := data
	if got.mark != nil {
		if marked, err = json.Marshal(got.mark); err != nil {
			return nil, "", err
		}
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(key))
	_, _ = sum.Write([]byte{0})
	_, _ = sum.Write(marked)
	return data, fmt.Sprintf("%016x", sum.Sum64()), nil
}
