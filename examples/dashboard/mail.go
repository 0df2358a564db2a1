package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln"
)

type (
	// SendEmail sends one mail.
	SendEmail struct {
		To       string `json:"to"`
		Template string `json:"template"`
		Order    int    `json:"order,omitempty"`
	}
	// AnnounceFlashSale is worth nothing once the sale is over.
	AnnounceFlashSale struct {
		Product Product `json:"product"`
	}
)

func (SendEmail) Kind() string         { return "send_email" }
func (AnnounceFlashSale) Kind() string { return "announce_flash_sale" }

func (a SendEmail) Title() string         { return "Mail " + a.Template + " to " + a.To }
func (a AnnounceFlashSale) Title() string { return "Flash sale: " + a.Product.Name }

// InsertOptions keep to what the mail provider takes: two a second, and five at once after a pause.
func (SendEmail) InsertOptions() []kiln.InsertOption {
	return []kiln.InsertOption{
		kiln.Queue(queueMail), kiln.MaxAttempts(4), kiln.Timeout(20 * time.Second),
		kiln.Limit{Key: "smtp", Rate: 2, Per: time.Second, Burst: 5},
	}
}

// sendNewsletter writes to everybody at once, which the rate of the limit "smtp" spreads.
func (s *shop) sendNewsletter(ctx context.Context) error {
	specs := make([]kiln.Spec, 0, 2*len(customers))
	for _, template := range []string{"newsletter", "newsletter_offers"} {
		for _, c := range customers {
			specs = append(specs, kiln.Spec{
				Args:    SendEmail{To: c.Email(), Template: template},
				Options: []kiln.InsertOption{kiln.Tags{"newsletter", c.tag()}, kiln.Priority(-5)},
			})
		}
	}
	_, err := s.client.EnqueueMany(ctx, specs...)
	return err
}

// announceFlashSale enqueues news that come too late: their deadline passes before they are due.
func (s *shop) announceFlashSale(ctx context.Context) error {
	_, err := s.client.Enqueue(ctx, AnnounceFlashSale{Product: pick(products)}, kiln.Queue(queueMail),
		kiln.Delay(20*time.Second), kiln.Deadline(time.Now().Add(10*time.Second)))
	return err
}

func handleMail(mux *kiln.Mux) {
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[SendEmail]) error {
		if err := deliver(ctx, j.Args); err != nil {
			err = fmt.Errorf("send %s to %s: %w", j.Args.Template, j.Args.To, err)
			if reply := (*SMTPError)(nil); errors.As(err, &reply) && !reply.Temporary() {
				return kiln.Permanent(err)
			}
			return err
		}
		return nil
	}, kiln.Delays(5*time.Second, 15*time.Second, time.Minute))
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[AnnounceFlashSale]) error { return work(ctx, time.Second) })
}

func deliver(ctx context.Context, mail SendEmail) error {
	if err := work(ctx, between(100*time.Millisecond, 700*time.Millisecond)); err != nil {
		return err
	}
	switch {
	case mail.Template == "newsletter" && mail.To == customers[10].Email():
		return &SMTPError{Code: 550, Text: "5.1.1 no such mailbox"}
	case chance(5):
		return &SMTPError{Code: 451, Text: "4.7.1 greylisted, try again later"}
	}
	return nil
}
