package pgstore

import (
	"embed"

	"github.com/kilnjobs/kiln/storekit"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

//go:embed migrations/*.sql
var migrationFiles embed.FS

// quoted is the schema as it stands before the name of each table. Names of schemas are of letters, digits and _ only.
func quoted(schema string) string { return `"` + schema + `".` }

func newTexts(schema string) (storekit.Statements, error) {
	return storekit.ParseStatements(sqlFiles, "sql", quoted(schema))
}

func migrations(schema string) (storekit.Migrator, error) {
	return storekit.ParseMigrations(migrationFiles, "migrations", quoted(schema))
}
