package kiln

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/kilnjobs/kiln/driver"
)

// Args is a job's payload. It must encode as JSON, to at most 1 MiB. Kind names the handler: 1 to 128 bytes, first a letter,
// then letters, digits and _ . : -.
//
// An args type may also have a method InsertOptions() []InsertOption, whose options come before those of the call, and a method
// Title() string, whose result is the job's title when no option gives one.
type Args interface {
	Kind() string
}

// Spec is one job of a call that enqueues several.
type Spec struct {
	Args    Args
	Options []InsertOption
}

// params turns args and options into a job for the store.
func params(args Args, opts []InsertOption) (driver.InsertParams, error) {
	return build(args, func(d *draft) error { return d.apply(opts) })
}

// build turns args, their own options and those of a call into a job for the store.
func build(args Args, options func(*draft) error) (driver.InsertParams, error) {
	if isNil(args) {
		return driver.InsertParams{}, fmt.Errorf("%w: Args is nil", ErrInvalid)
	}
	d := draft{InsertParams: driver.InsertParams{
		Kind: args.Kind(), Queue: DefaultQueue, MaxAttempts: DefaultMaxAttempts,
	}}
	if err := checkKind(d.Kind); err != nil {
		return driver.InsertParams{}, err
	}
	if a, ok := args.(interface{ InsertOptions() []InsertOption }); ok {
		if err := d.apply(a.InsertOptions()); err != nil {
			return driver.InsertParams{}, fmt.Errorf("job of kind %s: InsertOptions: %w", d.Kind, err)
		}
	}
	if err := options(&d); err != nil {
		return driver.InsertParams{}, fmt.Errorf("job of kind %s: %w", d.Kind, err)
	}
	if a, ok := args.(interface{ Title() string }); ok && !d.titled {
		d.Title = a.Title()
	}
	encoded, err := json.Marshal(args)
	if err != nil {
		return driver.InsertParams{}, fmt.Errorf("job of kind %s: encode Args: %w", d.Kind, err)
	}
	if len(encoded) > maxArgs {
		return driver.InsertParams{}, fmt.Errorf("job of kind %s: %w: Args has %d bytes of JSON, more than %d", d.Kind, ErrTooLarge, len(encoded), maxArgs)
	}
	d.Args = encoded
	d.setDeadline()
	d.setUnique()
	d.setLimit()
	return d.InsertParams, nil
}

func (d *draft) apply(opts []InsertOption) error {
	for _, o := range opts {
		if o == nil {
			continue
		}
		if err := o.insert(d); err != nil {
			return err
		}
	}
	return nil
}

// isNil also sees a nil pointer in the interface, whose Kind would only panic.
func isNil(args Args) bool {
	if args == nil {
		return true
	}
	v := reflect.ValueOf(args)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
