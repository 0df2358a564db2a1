package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kilnjobs/kiln"
)

type (
	// ChargeCard takes the money for an order.
	ChargeCard struct {
		Order    int `json:"order"`
		Customer int `json:"customer"`
		Cents    int `json:"cents"`
	}
	// AwaitTransfer looks now and then whether a bank transfer has come in.
	AwaitTransfer struct {
		Order int    `json:"order"`
		IBAN  string `json:"iban"`
	}
)

func (ChargeCard) Kind() string    { return "charge_card" }
func (AwaitTransfer) Kind() string { return "await_transfer" }

func (a ChargeCard) Title() string {
	return fmt.Sprintf("Charge %d.%02d € for order %d", a.Cents/100, a.Cents%100, a.Order)
}
func (a AwaitTransfer) Title() string { return fmt.Sprintf("Await the transfer for order %d", a.Order) }

// InsertOptions let the gateway have as many requests at once as its contract says.
func (ChargeCard) InsertOptions() []kiln.InsertOption {
	return []kiln.InsertOption{kiln.MaxAttempts(4), kiln.Limit{Key: "payments", Max: 3}}
}

func (s *shop) awaitTransfer(ctx context.Context) error {
	_, err := s.client.Enqueue(ctx, AwaitTransfer{Order: s.orders.next(), IBAN: fmt.Sprintf("DE%020d", rand.Uint64()>>4)}, kiln.Tags{"prepaid"})
	return err
}

func handlePayments(mux *kiln.Mux) {
	kiln.Handle(mux, chargeCard, kiln.Delays(3*time.Second, 8*time.Second, 20*time.Second))
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[AwaitTransfer]) error {
		if err := work(ctx, between(100*time.Millisecond, 500*time.Millisecond)); err != nil {
			return err
		}
		if chance(70) {
			return kiln.Snooze(30 * time.Second)
		}
		return nil
	})
}

func chargeCard(ctx context.Context, j *kiln.Job[ChargeCard]) error {
	if err := work(ctx, between(400*time.Millisecond, 1500*time.Millisecond)); err != nil {
		return err
	}
	var err error
	switch {
	case gatewayDown(time.Now()):
		err = &GatewayError{Status: 503, Message: "upstream connect error: connection refused"}
	case chance(3):
		err = kiln.Permanent(&GatewayError{Status: 402, Message: "card declined: insufficient funds"})
	case chance(10):
		err = &GatewayError{Status: 504, Message: "no answer within 1.5s"}
	default:
		return j.SetOutput(map[string]any{"payment": fmt.Sprintf("pay_%012x", rand.Uint64()>>16), "cents": j.Args.Cents})
	}
	return fmt.Errorf("charge order %d: %w", j.Args.Order, err)
}

// gatewayDown says that the payment provider has one of its bad minutes, which come every quarter of an hour.
func gatewayDown(now time.Time) bool { return now.Minute()%15 == 7 }
