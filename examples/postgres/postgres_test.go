package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestProgram(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dsn := database(t)
	for range 2 { // the second time everything is there already
		var out strings.Builder
		if err := run(ctx, dsn, log.New(&out, "", 0)); err != nil {
			t.Fatalf("the program ended with %v and printed\n%s", err, &out)
		}
		if want := "order of a teapot: <nil>\norder of a moon: out of stock\norder of a cup: <nil>\nreceipt for a teapot\nreceipt for a cup\n"; out.String() != want {
			t.Errorf("the program printed\n%s\nwant\n%s", &out, want)
		}
	}
}

// database makes a database for one test on the server that KILN_POSTGRES names.
func database(t *testing.T) string {
	t.Helper()
	server := os.Getenv("KILN_POSTGRES")
	if server == "" {
		t.Skip("KILN_POSTGRES names no server")
	}
	config, err := pgx.ParseConfig(server)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("kiln_example_%d", time.Now().UnixNano())
	exec := func(statement string) {
		t.Helper()
		conn, err := pgx.ConnectConfig(context.Background(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("create database " + name)
	t.Cleanup(func() { exec("drop database " + name + " with (force)") })
	return fmt.Sprintf("host=%s port=%d user=%s password='%s' dbname=%s sslmode=disable", config.Host, config.Port, config.User, config.Password, name)
}
