package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// habit is something that happens in the shop again and again.
type habit struct {
	name  string
	every time.Duration
	do    func(context.Context) error
}

// habits come to three or four jobs a second.
func (s *shop) habits() []habit {
	return []habit{
		{"order", 5 * time.Second, s.placeOrder},
		{"bank transfer", 40 * time.Second, s.awaitTransfer},
		{"newsletter", 2 * time.Minute, s.sendNewsletter},
		{"photos", 25 * time.Second, s.uploadPhotos},
		{"catalogue", 150 * time.Second, s.receiveCatalogue},
		{"export", 45 * time.Second, s.requestExports},
		{"index", 3 * time.Minute, s.rebuildIndex},
		{"flash sale", 90 * time.Second, s.announceFlashSale},
		{"wholesale", time.Minute, s.askForQuotes},
		{"video", time.Minute, s.orderVideos},
		{"loyalty", time.Minute, s.countLoyalty},
		{"lost server", 5 * time.Minute, s.loseServer},
	}
}

// trade lets things happen until ctx ends: all of them once at the start, then each in its own rhythm.
func (s *shop) trade(ctx context.Context) {
	var all sync.WaitGroup
	for _, h := range s.habits() {
		all.Go(func() { s.live(ctx, h) })
	}
	all.Wait()
}

func (s *shop) live(ctx context.Context, h habit) {
	for {
		if err := h.do(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("the shop could not enqueue", "what", h.name, "error", err)
		}
		// People are not punctual.
		if work(ctx, h.every/2+rand.N(h.every)) != nil {
			return
		}
	}
}

// sequence counts.
type sequence struct{ n atomic.Int64 }

func (q *sequence) start(n int64) { q.n.Store(n) }
func (q *sequence) next() int     { return int(q.n.Add(1)) }

// chance is true in that many of a hundred cases.
func chance(percent int) bool { return rand.IntN(100) < percent }

// between draws a duration.
func between(least, most time.Duration) time.Duration { return least + rand.N(most-least) }

func pick[T any](from []T) T { return from[rand.IntN(len(from))] }
