// Probe says which version of PostgreSQL a connection string leads to, and fails when its role may not create databases.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: probe CONNECTION-STRING")
		os.Exit(2)
	}
	if err := probe(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func probe(dsn string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var version, role string
	var may bool
	const query = "select current_setting('server_version'), rolname, rolcreatedb or rolsuper from pg_roles where rolname = current_user"
	if err := conn.QueryRow(ctx, query).Scan(&version, &role, &may); err != nil {
		return err
	}
	if !may {
		return fmt.Errorf("the role %s may not create databases", role)
	}
	fmt.Println(version)
	return nil
}
