// Package loopback serves the dashboard to the person at this machine.
package loopback

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/dashboard"
)

// Prefix is the path of the dashboard.
const Prefix = "/kiln"

// Handler serves the dashboard below Prefix, and sends those who ask for the root there. Requests of other machines are refused.
func Handler(client *kiln.Client, title string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(Prefix+"/", dashboard.New(client, dashboard.Options{Prefix: Prefix, Authorize: dashboard.AllowAll, Title: title}))
	mux.Handle("GET /{$}", http.RedirectHandler(Prefix+"/", http.StatusFound))
	return mux
}

// Address is what to type into a browser to see what listens there.
func Address(l net.Listener) string { return "http://" + l.Addr().String() + Prefix + "/" }

// Serve answers requests until ctx ends. It closes l.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second,
		// The dashboard's streams end with it.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	err := s.Shutdown(patience)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close()
	}
	<-served
	return err
}
