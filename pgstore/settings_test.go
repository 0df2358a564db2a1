package pgstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/pgstore/internal/pgserver"
)

// oddSettings are defaults of a role that nobody has, but that every statement must bear.
var oddSettings = []map[string]string{
	{
		"search_path":                         "nowhere",
		"TimeZone":                            "Asia/Kathmandu",
		"DateStyle":                           "SQL, DMY",
		"IntervalStyle":                       "sql_standard",
		"default_transaction_isolation":       "serializable",
		"default_transaction_read_only":       "on",
		"default_transaction_deferrable":      "on",
		"standard_conforming_strings":         "off",
		"escape_string_warning":               "off",
		"bytea_output":                        "escape",
		"array_nulls":                         "off",
		"transform_null_equals":               "on",
		"extra_float_digits":                  "-15",
		"plan_cache_mode":                     "force_generic_plan",
		"enable_indexscan":                    "off",
		"idle_in_transaction_session_timeout": "1s",
	},
	{
		"search_path":                     "",
		"TimeZone":                        "America/Sao_Paulo",
		"DateStyle":                       "Postgres, MDY",
		"IntervalStyle":                   "iso_8601",
		"default_transaction_isolation":   "repeatable read",
		"statement_timeout":               "1s",
		"lock_timeout":                    "1ms",
		"deadlock_timeout":                "1s",
		"client_encoding":                 "LATIN1",
		"plan_cache_mode":                 "force_custom_plan",
		"enable_seqscan":                  "off",
		"row_security":                    "off",
		"quote_all_identifiers":           "on",
		"jit_above_cost":                  "0",
		"max_parallel_workers_per_gather": "0",
	},
}

// odd makes a role with settings of its own and a database of the same name that belongs to it, and returns how the superuser connects
// to that.
func odd(t *testing.T, pg *pgserver.Server, settings map[string]string) (direct, role string) {
	t.Helper()
	ctx := context.Background()
	admin, err := pgx.Connect(ctx, pg.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(ctx)
	name := fmt.Sprint("odd", installations.Add(1))
	lines := []string{"create role " + name + " login", "create database " + name + " owner " + name}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		value := "'" + settings[key] + "'"
		if key == "search_path" && settings[key] != "" || key == "DateStyle" {
			value = settings[key]
		}
		lines = append(lines, "alter role "+name+" set "+key+" = "+value)
	}
	for _, line := range lines {
		if _, err := admin.Exec(ctx, line, pgx.QueryExecModeExec); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return pg.DSN(name), name
}

// TestSettings works for roles whose sessions begin with odd settings. TestPgBouncer runs the suite for one of them.
func TestSettings(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	for i, settings := range oddSettings {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			direct, role := odd(t, pg, settings)
			show(t, pg.DSNFor(role, role), settings)
			suiteOrRound(t, pg.DSNFor(role, role), direct)
		})
	}
}

// show checks that the settings are what sessions begin with.
func show(t *testing.T, dsn string, settings map[string]string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for key, want := range settings {
		var got string
		if err := conn.QueryRow(ctx, "select setting from pg_settings where lower(name) = lower($1)", key).Scan(&got); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		if unit := strings.NewReplacer("1ms", "1", "1s", "1000", `""`, "").Replace; unit(got) != unit(want) {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// TestSettingsInEveryMode lets roles with odd settings work in every exec mode.
func TestSettingsInEveryMode(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	for i, settings := range oddSettings {
		direct, role := odd(t, pg, settings)
		for _, mode := range execModes {
			t.Run(fmt.Sprint(i, "/", mode), func(t *testing.T) {
				round(t, emptyStore(t, pg.DSNFor(role, role), direct, ExecMode(mode)))
			})
		}
	}
}

// TestText keeps text of every alphabet whatever encoding sessions begin with.
func TestText(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pg := pgserver.Start(t, 0)
	for _, encoding := range []string{"LATIN1", "SQL_ASCII", "EUC_JP"} {
		direct, role := odd(t, pg, map[string]string{"client_encoding": encoding, "standard_conforming_strings": "off"})
		for _, mode := range execModes {
			s := emptyStore(t, pg.DSNFor(role, role), direct, ExecMode(mode))
			want := driver.InsertParams{
				Kind: "k", Queue: "q", Args: []byte(`"ü€😀\\ ' \u0000"`), Title: "ü€😀\\'", Tags: []string{"Grüße", "日本"}, Meta: map[string]string{"ключ": "\\x41"},
				MaxAttempts: 1, LimitKey: "ü\\", LimitMax: 1,
			}
			out, err := s.Insert(ctx, []driver.InsertParams{want})
			if err != nil {
				t.Errorf("%s, %s: Insert returns %v", encoding, mode, err)
				continue
			}
			got, err := s.Job(ctx, out[0].ID)
			if err != nil || string(got.Args) != string(want.Args) || got.Title != want.Title || !slices.Equal(got.Tags, want.Tags) ||
				!maps.Equal(got.Meta, want.Meta) || got.LimitKey != want.LimitKey {
				t.Errorf("%s, %s: %+v comes back as %+v, %v", encoding, mode, want, got, err)
			}
		}
	}
}
