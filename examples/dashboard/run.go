package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/examples/internal/loopback"
	"github.com/kilnjobs/kiln/sqlitestore"
	_ "modernc.org/sqlite"
)

// run keeps the shop open and the dashboard served until ctx ends.
func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
	// The address first: that it is taken is the likeliest thing to go wrong.
	l, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	defer l.Close()
	if o.db == "" {
		dir, err := os.MkdirTemp("", "kiln-dashboard-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.db = filepath.Join(dir, "jobs.db")
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: o.db}).EscapedPath()+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(8)
	store, err := sqlitestore.New(ctx, db)
	if err != nil {
		return fmt.Errorf("%s: %w", o.db, err)
	}
	defer store.Close()
	client := kiln.NewClient(store)
	business := newShop(client, slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	if err := business.open(ctx); err != nil {
		return err
	}
	servers, err := business.servers()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "The dashboard is at %s\nCtrl+C stops it.\n", loopback.Address(l)); err != nil {
		return err
	}
	parts := []func(context.Context) error{
		func(ctx context.Context) error { return loopback.Serve(ctx, l, loopback.Handler(client, "shop")) },
		func(ctx context.Context) error { business.trade(ctx); return nil },
	}
	for _, s := range servers {
		parts = append(parts, s.Run)
	}
	return together(ctx, parts)
}

// together runs all parts until ctx ends or one of them has an error, and waits for all.
func together(ctx context.Context, parts []func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(parts))
	var running sync.WaitGroup
	for i, part := range parts {
		running.Go(func() {
			if errs[i] = part(ctx); errs[i] != nil {
				stop()
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
