package pgstore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/pgstore/internal/pgserver"
)

// TestMergedInsertsEndWithTheirCallers pins that a caller whose context ends is not held by the inserts that share a statement with its
// own, however long the database takes to answer them.
func TestMergedInsertsEndWithTheirCallers(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	proxy := pgserver.NewProxy(t, pg.Addr())
	s := openAt(t, proxy.DSN("postgres"))
	jobs := []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1}}
	if _, err := s.Insert(context.Background(), jobs); err != nil {
		t.Fatal(err)
	}
	proxy.Stall()
	defer proxy.Resume()
	ended := make(chan struct{})
	var calls sync.WaitGroup
	for range 12 {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			if _, err := s.Insert(ctx, jobs); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got error %v, want one that wraps %v", err, context.DeadlineExceeded)
			}
		})
	}
	go func() { calls.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("callers whose contexts have ended wait on")
	}
}
