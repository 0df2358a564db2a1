// Package kiln runs background jobs that are kept in the database an application already has.
//
// A job is a row. A [Client] writes it, in the application's own transaction if it likes; a [Server], in the same process or in
// any other, claims it, runs the handler that a [Mux] has for its kind, and writes back how it ended. Jobs survive crashes:
// what a dead server was running is run again by another.
//
//	client := kiln.NewClient(store)
//	mux := kiln.NewMux()
//	kiln.Handle(mux, sendEmail)
//	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
//	…
//	_, err = client.Enqueue(ctx, SendEmail{To: "ann@example.com"})
//	err = server.Run(ctx)
//
// # Delivery
//
// A job runs at least once. A server that dies after a handler's side effect and before its result was stored leaves a job that
// runs again, so handlers should be idempotent; Job.SetParam keeps checkpoints across attempts. A result that was stored is
// never overwritten by an older run of the same job: every write of a run carries the claim that it ran under.
//
// # Time
//
// Run times, retries, deadlines and leases follow the store's clock. The clocks of servers only pace their loops.
package kiln
