package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/pgstore"
)

var kilnPostgres = system{name: "kiln-postgres", on: onPostgres, kiln: true, shared: true, open: func(ctx context.Context, url string) (instance, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	s, err := pgstore.New(ctx, pool)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &kilnInstance{store: s, client: kiln.NewClient(s), shut: func() error { s.Close(); pool.Close(); return nil }}, nil
}}
