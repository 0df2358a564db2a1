package kiln_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/memstore"
)

type ChargeCard struct {
	OrderID int
}

func (ChargeCard) Kind() string { return "charge_card" }

func ExampleHandle() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[ChargeCard]) error {
		defer stop()
		fmt.Println("charging order", j.Args.OrderID)
		return nil
	}, kiln.Timeout(time.Minute), kiln.Exponential(time.Second, time.Hour))
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}

	if _, err := client.Enqueue(ctx, ChargeCard{OrderID: 7}); err != nil {
		log.Fatal(err)
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: charging order 7
}

func ExampleMux_Use() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	mux := kiln.NewMux()
	mux.Use(func(next kiln.HandlerFunc) kiln.HandlerFunc {
		return func(ctx context.Context, j *kiln.RawJob) error {
			fmt.Println("before", j.Kind, string(j.Args))
			err := next(ctx, j)
			fmt.Println("after", j.Kind, err)
			return err
		}
	})
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[ChargeCard]) error {
		defer stop()
		fmt.Println("charging order", j.Args.OrderID)
		return nil
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}

	if _, err := client.Enqueue(ctx, ChargeCard{OrderID: 7}); err != nil {
		log.Fatal(err)
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// before charge_card {"OrderID":7}
	// charging order 7
	// after charge_card <nil>
}

func ExamplePermanent() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[ChargeCard]) error {
		defer stop()
		return kiln.Permanent(errors.New("the card was stolen"))
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}

	id, err := client.Enqueue(ctx, ChargeCard{OrderID: 7})
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(context.Background(), id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State, "after attempt", job.Attempt, "of", job.MaxAttempts)
	fmt.Println(job.History[0].Reason, "-", job.History[0].Error)
	// Output:
	// failed after attempt 1 of 10
	// permanent - the card was stolen
}

func ExampleCancel() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[ChargeCard]) error {
		defer stop()
		return kiln.Cancel(errors.New("the order was withdrawn"))
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}

	id, err := client.Enqueue(ctx, ChargeCard{OrderID: 7})
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(context.Background(), id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State)
	fmt.Println(job.History[0].Reason, "-", job.History[0].Error)
	// Output:
	// deleted
	// canceled - the order was withdrawn
}

func ExampleSnooze() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	var asked int
	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[ChargeCard]) error {
		asked++
		if asked < 3 {
			fmt.Println("attempt", j.Attempt, "- the bank is closed")
			return kiln.Snooze(time.Millisecond)
		}
		fmt.Println("attempt", j.Attempt, "- charged")
		stop()
		return nil
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}

	if _, err := client.Enqueue(ctx, ChargeCard{OrderID: 7}, kiln.MaxAttempts(1)); err != nil {
		log.Fatal(err)
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// attempt 1 - the bank is closed
	// attempt 1 - the bank is closed
	// attempt 1 - charged
}

func ExampleExponential() {
	backoff := kiln.Exponential(2*time.Second, 2*time.Minute)

	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[ChargeCard]) error {
		return errors.New("the bank does not answer")
	}, backoff)

	third := backoff(3, nil)
	fmt.Println("third wait between 4s and 8s:", third >= 4*time.Second && third <= 8*time.Second)
	var total time.Duration
	for attempt := 1; attempt < 12; attempt++ {
		total += backoff(attempt, nil)
	}
	fmt.Println("12 attempts take over 6 minutes:", total > 6*time.Minute)
	// Output:
	// third wait between 4s and 8s: true
	// 12 attempts take over 6 minutes: true
}

func ExampleConstant() {
	backoff := kiln.Constant(time.Minute)
	fmt.Println(backoff(1, nil), backoff(2, nil), backoff(3, nil))
	// Output: 1m0s 1m0s 1m0s
}

func ExampleDelays() {
	backoff := kiln.Delays(time.Second, time.Minute, time.Hour)
	for attempt := 1; attempt <= 5; attempt++ {
		fmt.Println(attempt, backoff(attempt, nil))
	}
	// Output:
	// 1 1s
	// 2 1m0s
	// 3 1h0m0s
	// 4 1h0m0s
	// 5 1h0m0s
}

func ExampleBackoff() {
	errBusy := errors.New("the bank is busy")
	backoff := kiln.Backoff(func(attempt int, err error) time.Duration {
		if errors.Is(err, errBusy) {
			return time.Hour
		}
		return time.Duration(attempt) * time.Second
	})

	fmt.Println(backoff(2, errors.New("connection reset")))
	fmt.Println(backoff(2, errBusy))
	// Output:
	// 2s
	// 1h0m0s
}

func ExampleJob_SetOutput() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[ChargeCard]) error {
		defer stop()
		return j.SetOutput(map[string]int{"receipt": 42})
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}

	id, err := client.Enqueue(ctx, ChargeCard{OrderID: 7})
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(context.Background(), id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(job.Output))
	// Output: {"receipt":42}
}

func ExampleJob_SetParam() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[ChargeCard]) error {
		var charge string
		charged, err := j.Param("charge", &charge)
		if err != nil {
			return err
		}
		if !charged {
			fmt.Println("charging the card")
			if err := j.SetParam(ctx, "charge", "ch_42"); err != nil {
				return err
			}
			return errors.New("the receipt printer is out of paper")
		}
		fmt.Println("printing the receipt of", charge)
		stop()
		return nil
	}, kiln.Constant(time.Millisecond))
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}

	if _, err := client.Enqueue(ctx, ChargeCard{OrderID: 7}); err != nil {
		log.Fatal(err)
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// charging the card
	// printing the receipt of ch_42
}
