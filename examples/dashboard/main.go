// Command dashboard shows the dashboard at work: it opens an invented shop, whose customers make jobs of every sort for as long as the
// program runs, and serves the dashboard beside it. Some of the jobs fail, wait or are stuck on purpose, each in a way that real ones do.
//
//	go run ./examples/dashboard [-addr 127.0.0.1:8080] [-db FILE]
//
// Ctrl+C stops it. Without -db the jobs are gone then.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// options are what the command line says.
type options struct {
	// addr is where the dashboard is served, db the SQLite file, empty for one that is removed at the end.
	addr, db string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(2)
	}
	if err := run(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string, stderr io.Writer) (options, error) {
	flags := flag.NewFlagSet("dashboard", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: dashboard [-addr 127.0.0.1:8080] [-db FILE]")
		flags.PrintDefaults()
	}
	var o options
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "the `address` to serve the dashboard on; it answers this machine only")
	flags.StringVar(&o.db, "db", "", "the SQLite `file` that keeps the jobs (default one that is removed at the end)")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("no arguments are taken besides flags, not %q", flags.Args())
	}
	return o, nil
}
