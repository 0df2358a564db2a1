package driver_test

import (
	"context"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

func TestActor(t *testing.T) {
	ctx := t.Context()
	if got := driver.Actor(ctx); got != "" {
		t.Errorf("without an actor: %q", got)
	}
	ann := driver.WithActor(ctx, "ann")
	if got := driver.Actor(ann); got != "ann" {
		t.Errorf("with ann: %q", got)
	}
	child, cancel := context.WithCancel(ann)
	cancel()
	if got := driver.Actor(child); got != "ann" {
		t.Errorf("a context made from ann's has %q", got)
	}
	if got := driver.Actor(driver.WithActor(ann, "bob")); got != "bob" {
		t.Errorf("bob after ann: %q", got)
	}
	if got := driver.Actor(driver.WithActor(ann, "")); got != "" {
		t.Errorf("nobody after ann: %q", got)
	}
	if got := driver.Actor(ann); got != "ann" {
		t.Errorf("later actors changed the context of ann to %q", got)
	}
}
