package main

import (
	"context"
	"log"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProgram(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, filepath.Join(t.TempDir(), "shop.db"), log.New(&out, "", 0)); err != nil {
		t.Fatalf("the program ended with %v and printed\n%s", err, &out)
	}
	if want := "order of a teapot: <nil>\norder of a moon: out of stock\norder of a cup: <nil>\nreceipt for a teapot\nreceipt for a cup\n"; out.String() != want {
		t.Errorf("the program printed\n%s\nwant\n%s", &out, want)
	}
}
