package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

// Asynq on Redis. It keeps no job that has succeeded, as by default. It looks into an empty queue once a second unless it is told
// otherwise; with less its pickup is faster, and its drains are not slower.
var asynqRedis = system{name: "asynq-redis", on: onRedis, shared: true, open: openAsynq}

const (
	asynqQueue = "default"
	// asynqLook is how long Asynq waits before it looks into a queue that was empty.
	asynqLook = 5 * time.Millisecond
	// asynqCallers insert many jobs, since Asynq takes them one by one.
	asynqCallers = 32
)

type asynqInstance struct {
	redis     asynq.RedisConnOpt
	client    *asynq.Client
	inspector *asynq.Inspector
}

func openAsynq(_ context.Context, url string) (instance, error) {
	redis, err := asynq.ParseRedisURI(url)
	if err != nil {
		return nil, err
	}
	return &asynqInstance{redis: redis, client: asynq.NewClient(redis), inspector: asynq.NewInspector(redis)}, nil
}

func (a *asynqInstance) insert(ctx context.Context, first int64, n int) error {
	if n == 1 {
		return a.enqueue(ctx, first)
	}
	callers := min(asynqCallers, n)
	errs := make([]error, callers)
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			for i := c; i < n && errs[c] == nil; i += callers {
				errs[c] = a.enqueue(ctx, first+int64(i))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func (a *asynqInstance) enqueue(ctx context.Context, n int64) error {
	args, err := json.Marshal(newPayload(n))
	if err != nil {
		return err
	}
	_, err = a.client.EnqueueContext(ctx, asynq.NewTask(kindName, args))
	return err
}

func (a *asynqInstance) work(_ context.Context, workers int, handle func(int64)) (func() error, error) {
	server := asynq.NewServer(a.redis, asynq.Config{
		Concurrency: workers, TaskCheckInterval: asynqLook, Logger: quiet{}, LogLevel: asynq.FatalLevel,
	})
	err := server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		var p payload
		if err := json.Unmarshal(t.Payload(), &p); err != nil {
			return err
		}
		handle(p.N)
		return nil
	}))
	if err != nil {
		return nil, fmt.Errorf("asynq: start: %w", err)
	}
	return func() error { server.Shutdown(); return nil }, nil
}

func (a *asynqInstance) idle(context.Context) (bool, error) {
	q, err := a.inspector.GetQueueInfo(asynqQueue)
	if err != nil {
		return false, err
	}
	return q.Pending+q.Active+q.Scheduled+q.Retry == 0, nil
}

func (a *asynqInstance) close() error {
	return errors.Join(a.client.Close(), a.inspector.Close())
}

// quiet is a log that nobody reads.
type quiet struct{}

// Debug does nothing.
func (quiet) Debug(...any) {}

// Info does nothing.
func (quiet) Info(...any) {}

// Warn does nothing.
func (quiet) Warn(...any) {}

// Error does nothing.
func (quiet) Error(...any) {}

// Fatal does nothing.
func (quiet) Fatal(...any) {}
