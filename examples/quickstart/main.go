// Command quickstart is kiln on real work: it makes a job of every file below a folder, runs the jobs, each of which reads its
// file and computes its SHA-256, and writes a report.
//
//	go run ./examples/quickstart [-db jobs.db] [-workers N] [-serve[=ADDRESS]] [FOLDER]
//
// Kill it at any moment and start it again: it goes on where it was, and runs no file again whose result is stored. With -serve it
// shows the dashboard meanwhile, and stays until Ctrl+C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
)

// options are what the command line says.
type options struct {
	// db and folder are absolute paths, report is where the report goes.
	db, folder, report string
	workers            int
	// serve is the address of the dashboard, empty for none.
	serve address
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(2)
	}
	if err := run(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string, stderr io.Writer) (options, error) {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: quickstart [-db jobs.db] [-workers N] [-serve[=ADDRESS]] [FOLDER]")
		flags.PrintDefaults()
	}
	db := flags.String("db", "jobs.db", "the SQLite `file` that keeps the jobs")
	workers := flags.Int("workers", 2*runtime.NumCPU(), "how many files are read at once")
	var serve address
	flags.Var(&serve, "serve", "serve the dashboard, on "+defaultAddress+" or at the `address` given as -serve=ADDRESS, until Ctrl+C")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if *workers < 1 {
		return options{}, fmt.Errorf("-workers %d is below 1", *workers)
	}
	folder := "."
	switch flags.NArg() {
	case 0:
	case 1:
		folder = flags.Arg(0)
		if _, _, err := net.SplitHostPort(folder); err == nil && serve != "" {
			return options{}, fmt.Errorf("an address belongs to its flag: -serve=%s", folder)
		}
	default:
		return options{}, fmt.Errorf("one folder at most, not %d: %q", flags.NArg(), flags.Args())
	}
	return absolute(options{db: *db, folder: folder, report: "report.csv", workers: *workers, serve: serve})
}

// absolute resolves the paths, so that a file is the same file wherever the program is started from.
func absolute(o options) (options, error) {
	folder, err := filepath.EvalSymlinks(o.folder)
	if err != nil {
		return o, err
	}
	info, err := os.Stat(folder)
	if err != nil {
		return o, err
	}
	if !info.IsDir() {
		return o, fmt.Errorf("%s is not a folder", o.folder)
	}
	for _, p := range []*string{&folder, &o.db, &o.report} {
		if *p, err = filepath.Abs(*p); err != nil {
			return o, err
		}
		// A link above a file that does not exist yet still leads to it.
		if dir, err := filepath.EvalSymlinks(filepath.Dir(*p)); err == nil {
			*p = filepath.Join(dir, filepath.Base(*p))
		}
	}
	o.folder = folder
	return o, nil
}
