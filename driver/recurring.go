package driver

import "fmt"

// CheckRecurring checks the rules of a PutRecurring call that need no store: an id, and text that every database keeps. Names'
// alphabets, the spec, the zone and the template are the client's to check. The error wraps ErrInvalid.
func CheckRecurring(r Recurring) error {
	if r.ID == "" {
		return fmt.Errorf("%w: recurring job ID is empty", ErrInvalid)
	}
	if r.Version < 0 {
		return fmt.Errorf("%w: recurring job Version %d is below 0", ErrInvalid, r.Version)
	}
	for _, text := range []struct{ field, value string }{
		{"recurring job ID", r.ID}, {"Group", r.Group}, {"Spec", r.Spec}, {"Location", r.Location},
	} {
		if err := checkText(text.field, text.value); err != nil {
			return err
		}
	}
	return nil
}
