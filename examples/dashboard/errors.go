package main

import "fmt"

// GatewayError is an answer of the payment provider that is none.
type GatewayError struct {
	Status  int
	Message string
}

func (e *GatewayError) Error() string {
	return fmt.Sprintf("payment gateway answered %d: %s", e.Status, e.Message)
}

// WarehouseError is why a warehouse could not do what it was asked.
type WarehouseError struct{ Warehouse, Reason string }

func (e *WarehouseError) Error() string {
	return fmt.Sprintf("warehouse %s: %s", e.Warehouse, e.Reason)
}

// SMTPError is a reply of a mail server that is not 250.
type SMTPError struct {
	Code int
	Text string
}

func (e *SMTPError) Error() string { return fmt.Sprintf("smtp: %d %s", e.Code, e.Text) }

// Temporary says that the mail may go through later.
func (e *SMTPError) Temporary() bool { return e.Code < 500 }

// RowError is a line of a supplier's file that makes no sense.
type RowError struct {
	File string
	Row  int
	Err  error
}

func (e *RowError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Row, e.Err) }

// Unwrap returns what is wrong with the row.
func (e *RowError) Unwrap() error { return e.Err }
