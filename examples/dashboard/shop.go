package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kilnjobs/kiln"
)

// The shop's queues.
const (
	// queueMail sends e-mails, a few at a time.
	queueMail = "mail"
	// queueWholesale is worked on, but paused when the shop opens.
	queueWholesale = "wholesale"
	// queueVideo has jobs, and no server works on it.
	queueVideo = "video"
)

// shop enqueues jobs and handles them.
type shop struct {
	client *kiln.Client
	log    *slog.Logger
	orders sequence
	photos sequence
}

// newShop returns a shop whose jobs are kept behind client. What its servers have to say goes to log.
func newShop(client *kiln.Client, log *slog.Logger) *shop {
	s := &shop{client: client, log: slog.New(calm{log.Handler()})}
	s.orders.start(10_400)
	return s
}

// retention keeps the shop's database small, however long it is open.
var retention = kiln.Retention{Succeeded: 20 * time.Minute, Deleted: 20 * time.Minute, Failed: 2 * time.Hour}

// servers returns the shop's two servers, ready to run.
func (s *shop) servers() ([]*kiln.Server, error) {
	mux := kiln.NewMux()
	for _, handle := range []func(*kiln.Mux){
		handleOrders, handlePayments, handleMail, handlePhotos, handleCatalogue, handleExports, handleSchedule, handleWholesale,
	} {
		handle(mux)
	}
	configs := []kiln.ServerConfig{
		{Name: "shop-1", Queues: map[string]int{kiln.DefaultQueue: 14, queueWholesale: 1}},
		{Name: "shop-2", Queues: map[string]int{queueMail: 3}},
	}
	servers := make([]*kiln.Server, len(configs))
	for i, cfg := range configs {
		cfg.Retention, cfg.Logger = retention, s.log
		// Whoever stops the demo does not want to wait for exports of a minute; they go on at the next start.
		cfg.ShutdownTimeout = time.Second
		server, err := kiln.NewServer(s.client, mux, cfg)
		if err != nil {
			return nil, err
		}
		servers[i] = server
	}
	return servers, nil
}

// open declares the recurring jobs and pauses what is closed today. It can be called on a database that was used before.
func (s *shop) open(ctx context.Context) error {
	if err := s.schedule(ctx); err != nil {
		return fmt.Errorf("recurring jobs: %w", err)
	}
	if err := s.client.PauseQueue(ctx, queueWholesale); err != nil {
		return fmt.Errorf("pause %s: %w", queueWholesale, err)
	}
	return nil
}

// work stands for what a handler would really do: it takes a while, and ends early when the job is told to stop.
func work(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
