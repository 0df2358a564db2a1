package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kilnjobs/kiln"
)

type (
	// CheckStock looks whether an order can be delivered.
	CheckStock struct {
		Order int    `json:"order"`
		Lines []Line `json:"lines"`
	}
	// ReserveItems sets an order's goods aside in one warehouse.
	ReserveItems struct {
		Order     int    `json:"order"`
		Warehouse string `json:"warehouse"`
		Lines     []Line `json:"lines"`
	}
	// PrintLabels prints one label for each parcel, when all warehouses have reserved.
	PrintLabels struct {
		Order    int      `json:"order"`
		Customer Customer `json:"customer"`
	}
	// WriteInvoice writes the invoice of an order that was paid.
	WriteInvoice struct {
		Order int `json:"order"`
		Cents int `json:"cents"`
	}
	// AskForReview asks a customer, some days later, how it was.
	AskForReview struct {
		Order    int      `json:"order"`
		Customer Customer `json:"customer"`
	}
)

func (CheckStock) Kind() string   { return "check_stock" }
func (ReserveItems) Kind() string { return "reserve_items" }
func (PrintLabels) Kind() string  { return "print_labels" }
func (WriteInvoice) Kind() string { return "write_invoice" }
func (AskForReview) Kind() string { return "ask_for_review" }

func (a CheckStock) Title() string { return fmt.Sprintf("Check stock for order %d", a.Order) }
func (a ReserveItems) Title() string {
	return fmt.Sprintf("Reserve order %d in %s", a.Order, a.Warehouse)
}
func (a PrintLabels) Title() string  { return fmt.Sprintf("Print labels of order %d", a.Order) }
func (a WriteInvoice) Title() string { return fmt.Sprintf("Write invoice of order %d", a.Order) }
func (a AskForReview) Title() string { return "Ask " + a.Customer.Name + " for a review" }

// Line is one line of an order.
type Line struct {
	Product
	Count int `json:"count"`
}

// Reservation is what a warehouse answers.
type Reservation struct {
	Warehouse string `json:"warehouse"`
	Shelves   []int  `json:"shelves"`
}

// errOrderCanceled ends the jobs of an order that its customer took back.
var errOrderCanceled = errors.New("the customer has canceled the order")

// placeOrder enqueues all that an order needs as one flow: the stock is checked, the card charged; then every warehouse reserves on its own,
// and when all have, labels are printed and the customer is told.
func (s *shop) placeOrder(ctx context.Context) error {
	order, customer, lines := s.orders.next(), pick(customers), basket()
	var cents int
	for _, l := range lines {
		cents += l.Cents * l.Count
	}
	about := []kiln.InsertOption{
		kiln.Tags{customer.tag(), "country:" + customer.Country},
		kiln.Meta{"order": fmt.Sprint(order), "trace_id": fmt.Sprintf("%016x", rand.Uint64())},
	}
	with := func(more ...kiln.InsertOption) []kiln.InsertOption { return append(more, about...) }

	var flow kiln.Flow
	stock := flow.Add(CheckStock{Order: order, Lines: lines}, with()...)
	charge := flow.Add(ChargeCard{Order: order, Customer: customer.ID, Cents: cents}, with(kiln.Needs{stock})...)
	flow.Add(WriteInvoice{Order: order, Cents: cents}, with(kiln.Needs{charge})...)
	var reserved kiln.Needs
	for _, w := range warehouses[:1+rand.IntN(len(warehouses))] {
		reserved = append(reserved, flow.Add(ReserveItems{Order: order, Warehouse: w, Lines: lines}, with(kiln.Needs{charge})...))
	}
	labels := flow.Add(PrintLabels{Order: order, Customer: customer}, with(reserved)...)
	flow.Add(SendEmail{To: customer.Email(), Template: "order_shipped", Order: order}, with(kiln.Needs{labels}, kiln.Priority(5))...)
	jobs, err := s.client.EnqueueMany(ctx, flow...)
	if err != nil {
		return err
	}
	if _, err = s.client.Enqueue(ctx, SendEmail{To: customer.Email(), Template: "payment_failed", Order: order},
		with(kiln.AfterFailed{jobs[charge].ID})...); err != nil {
		return err
	}
	// One request per customer, however often they buy meanwhile.
	_, err = s.client.Enqueue(ctx, AskForReview{Order: order, Customer: customer},
		with(kiln.Delay(6*24*time.Hour), kiln.Unique{Key: customer.tag()})...)
	return err
}

func basket() []Line {
	lines := make([]Line, 1+rand.IntN(3))
	for i, at := range rand.Perm(len(products))[:len(lines)] {
		lines[i] = Line{Product: products[at], Count: 1 + rand.IntN(3)}
	}
	return lines
}

func handleOrders(mux *kiln.Mux) {
	kiln.Handle(mux, checkStock, kiln.Delays(2*time.Second, 10*time.Second))
	kiln.Handle(mux, reserveItems, kiln.Delays(3*time.Second, 15*time.Second))
	kiln.Handle(mux, printLabels, kiln.Constant(5*time.Second))
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[WriteInvoice]) error {
		if err := work(ctx, between(200*time.Millisecond, time.Second)); err != nil {
			return err
		}
		return j.SetOutput(map[string]any{"invoice": fmt.Sprintf("2026-%06d", j.Args.Order), "pages": 1})
	})
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[AskForReview]) error { return work(ctx, 200*time.Millisecond) })
}

func checkStock(ctx context.Context, j *kiln.Job[CheckStock]) error {
	if err := work(ctx, between(50*time.Millisecond, 400*time.Millisecond)); err != nil {
		return err
	}
	if chance(4) {
		return kiln.Cancel(errOrderCanceled)
	}
	return j.SetOutput(map[string]any{"available": true, "lines": len(j.Args.Lines)})
}

func reserveItems(ctx context.Context, j *kiln.Job[ReserveItems]) error {
	if err := work(ctx, between(300*time.Millisecond, 2*time.Second)); err != nil {
		return err
	}
	if chance(8) {
		return fmt.Errorf("reserve order %d: %w", j.Args.Order, &WarehouseError{Warehouse: j.Args.Warehouse, Reason: "row is locked by stocktaking"})
	}
	answer := Reservation{Warehouse: j.Args.Warehouse}
	for range j.Args.Lines {
		answer.Shelves = append(answer.Shelves, 100+rand.IntN(800))
	}
	return j.SetOutput(answer)
}

func printLabels(ctx context.Context, j *kiln.Job[PrintLabels]) error {
	outputs, err := j.ParentOutputs(ctx)
	if err != nil {
		return fmt.Errorf("read the reservations of order %d: %w", j.Args.Order, err)
	}
	for id, output := range outputs {
		var r Reservation
		if err := json.Unmarshal(output, &r); err != nil {
			return kiln.Permanent(fmt.Errorf("reservation %d of order %d: %w", id, j.Args.Order, err))
		}
		j.Logf("parcel from %s, shelves %v", r.Warehouse, r.Shelves)
		if err := work(ctx, between(200*time.Millisecond, 600*time.Millisecond)); err != nil {
			return err
		}
	}
	return j.SetOutput(map[string]any{"parcels": len(outputs), "carrier": "Postlicht", "to": j.Args.Customer.City})
}
