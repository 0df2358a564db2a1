package sqlitestore

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
)

// forgetStats removes what ANALYZE, or PRAGMA optimize, has noted about the store's tables. A table that was all but empty
// then is taken to stay so, and is read whole where an index was meant to be used: fatal once it has a million rows. Without
// notes SQLite assumes large tables, which the statements are written for. Notes on other tables stay.
func forgetStats(ctx context.Context, db querier, tables []string) error {
	there, err := count(ctx, db, "select count(*) from sqlite_schema where name = 'sqlite_stat1'")
	if err != nil || there == 0 {
		return err
	}
	list := "tbl in ('" + strings.Join(tables, "', '") + "')"
	noted, err := count(ctx, db, "select count(*) from sqlite_stat1 where "+list)
	if err != nil || noted == 0 {
		return err
	}
	if _, err := db.ExecContext(ctx, "delete from sqlite_stat1 where "+list); err != nil {
		return err
	}
	// This connection has read the notes already.
	_, err = db.ExecContext(ctx, "analyze sqlite_schema")
	return err
}

func count(ctx context.Context, db querier, text string) (n int64, err error) {
	err = each(ctx, db, "planner statistics", text, nil, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

var createTable = regexp.MustCompile(`(?m)^create table (\w+)`)

// tablesOf lists the tables of an installation.
func tablesOf(prefix string) ([]string, error) {
	m, err := migrations(prefix)
	if err != nil {
		return nil, err
	}
	tables := []string{prefix + "migrations"}
	for _, step := range m.Migrations() {
		for _, found := range createTable.FindAllStringSubmatch(step.SQL, -1) {
			tables = append(tables, found[1])
		}
	}
	slices.Sort(tables)
	return tables, nil
}
