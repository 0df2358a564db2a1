// Package dashboard serves the pages with which people watch and mend the jobs of a store, and the JSON API behind them.
//
//	mux.Handle("/kiln/", dashboard.New(client, dashboard.Options{
//		Prefix:    "/kiln",
//		Authorize: func(r *http.Request) dashboard.Access { return accessOf(r) },
//	}))
//
// Everything that it needs is embedded. It reads and writes through the contract that every store implements, so it shows the same on
// each of them; what a store's optional interfaces do not offer is left out, and named where it would stand.
package dashboard
