package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// The shapes of errors that drivers return.

type methodCode struct{ code int }

func (e *methodCode) Error() string { return "modernc" }
func (e *methodCode) Code() int     { return e.code }

type errNo int
type errNoExtended int

type fieldCode struct {
	Code         errNo
	ExtendedCode errNoExtended
}

func (e fieldCode) Error() string { return "mattn" }

type (
	shortCode uint8
	longCode  uint16
)

type methodCodes struct{ code uint16 }

func (e *methodCodes) Error() string          { return "ncruces" }
func (e *methodCodes) Code() shortCode        { return shortCode(e.code) }
func (e *methodCodes) ExtendedCode() longCode { return longCode(e.code) }

func TestErrorCode(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"nil":               {nil, 0},
		"other":             {errors.New("no rows"), 0},
		"method":            {&methodCode{codeBusy}, codeBusy},
		"wrapped":           {fmt.Errorf("insert: %w", &methodCode{codeFull}), codeFull},
		"fields":            {fieldCode{5, 517}, 517},
		"fields, no more":   {fieldCode{Code: 13}, 13},
		"pointer to fields": {&fieldCode{Code: 10}, 10},
		"methods":           {&methodCodes{778}, 778},
		"text":              {errors.New("sqlite: database is locked"), codeBusy},
		"text of a table":   {errors.New("database table is locked: jobs"), codeLocked},
		"text full":         {errors.New("database or disk is full (13)"), codeFull},
		"ended context":     {fmt.Errorf("database is locked: %w", context.Canceled), 0},
	} {
		if got := errorCode(c.err); got != c.want {
			t.Errorf("%s: code %d, want %d", name, got, c.want)
		}
	}
	if !isBusy(fieldCode{5, 517}) || isBusy(full{}) || !isLost(ioError{}) || isLost(full{}) {
		t.Error("extended codes are not judged by their primary code")
	}
}
