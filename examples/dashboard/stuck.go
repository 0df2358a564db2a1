package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

type (
	// QuoteWholesale makes an offer for a large order. Its queue is paused.
	QuoteWholesale struct {
		Customer Customer `json:"customer"`
		Pieces   int      `json:"pieces"`
	}
	// RenderVideo makes a product's video. No server works on its queue.
	RenderVideo struct {
		Product Product `json:"product"`
	}
	// CountLoyalty adds up a customer's points. No server has a handler for it.
	CountLoyalty struct {
		Customer Customer `json:"customer"`
	}
)

func (QuoteWholesale) Kind() string { return "quote_wholesale" }
func (RenderVideo) Kind() string    { return "render_video" }
func (CountLoyalty) Kind() string   { return "count_loyalty_points" }

func (a QuoteWholesale) Title() string {
	return fmt.Sprintf("Quote %d pieces for %s", a.Pieces, a.Customer.Name)
}
func (a RenderVideo) Title() string { return "Render video of " + a.Product.Name }

// Each of these is enqueued once for its key, so that what nobody does never becomes more than a screenful.

func (s *shop) askForQuotes(ctx context.Context) error {
	customer := pick(customers)
	_, err := s.client.Enqueue(ctx, QuoteWholesale{Customer: customer, Pieces: 500}, kiln.Queue(queueWholesale),
		kiln.Unique{Key: customer.tag()}, kiln.Tags{customer.tag(), "wholesale"}, kiln.Meta{"requested_by": customer.Email()})
	return err
}

func (s *shop) orderVideos(ctx context.Context) error {
	_, err := s.client.Enqueue(ctx, RenderVideo{Product: pick(products)}, kiln.Queue(queueVideo), kiln.Unique{}, kiln.Priority(3))
	return err
}

func (s *shop) countLoyalty(ctx context.Context) error {
	_, err := s.client.Enqueue(ctx, CountLoyalty{Customer: pick(customers)}, kiln.Unique{})
	return err
}

func handleWholesale(mux *kiln.Mux) {
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[QuoteWholesale]) error {
		if err := work(ctx, between(2*time.Second, 4*time.Second)); err != nil {
			return err
		}
		return j.SetOutput(map[string]any{"pieces": j.Args.Pieces, "discount_percent": 12})
	})
}

// lost is a server that has stopped without saying so.
const lost = "shop-3:4711:5f1d9c03a7e2b864"

// loseServer lets a third server be heard of once, and never again. When the store has forgotten it, another comes.
func (s *shop) loseServer(ctx context.Context) error {
	servers, err := s.client.Store().Servers(ctx)
	if err != nil {
		return err
	}
	for _, server := range servers {
		if server.ID == lost {
			return nil
		}
	}
	_, err = s.client.Store().Heartbeat(ctx, driver.ServerInfo{
		ID: lost, Host: "shop-3", PID: 4711, Version: "kiln/devel", Workers: 14, Running: 2,
		Queues: []string{kiln.DefaultQueue, queueMail}, Kinds: []string{CheckStock{}.Kind(), SendEmail{}.Kind()},
	})
	return err
}
