package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/examples/internal/loopback"
)

const defaultAddress = "127.0.0.1:8080"

// address is the value of a flag that can be given without one.
type address string

// String is the address.
func (a *address) String() string { return string(*a) }

// IsBoolFlag lets the flag stand alone.
func (a *address) IsBoolFlag() bool { return true }

// Set takes an address, or what the flag package says when there is none.
func (a *address) Set(s string) error {
	if on, err := strconv.ParseBool(s); err == nil {
		*a = ""
		if on {
			*a = defaultAddress
		}
		return nil
	}
	if _, _, err := net.SplitHostPort(s); err != nil {
		return err
	}
	*a = address(s)
	return nil
}

// serve shows the dashboard while the work is done and afterwards, until ctx ends. Then jobs that are sent back to the queue by hand run as well.
func serve(ctx context.Context, client *kiln.Client, o options, stdout io.Writer, work func(context.Context) error) error {
	l, err := net.Listen("tcp", string(o.serve))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "The dashboard is at %s\n", loopback.Address(l)); err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		defer stop()
		served <- loopback.Serve(serving, l, loopback.Handler(client, "quickstart"))
	}()
	err = work(serving)
	if err == nil {
		err = linger(serving, client, o, stdout)
	}
	stop()
	return errors.Join(err, <-served)
}

func linger(ctx context.Context, client *kiln.Client, o options, stdout io.Writer) error {
	server, err := newServer(client, o)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, "Ctrl+C ends the program."); err != nil {
		return err
	}
	return server.Run(ctx)
}
