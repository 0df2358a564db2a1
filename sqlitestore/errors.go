package sqlitestore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"reflect"
	"strings"
)

// SQLite's primary result codes that the store acts on.
const (
	codeError    = 1
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeIOErr    = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeTooBig   = 18
	codeNotADB   = 26
)

// errorCode reads SQLite's result code, extended where the driver tells, from the error of any driver, without knowing the
// driver: from a method or a field named ExtendedCode or Code, from an error that is itself a number, and at last from the
// text that SQLite puts into its messages. It is 0 for errors that are not SQLite's.
func errorCode(err error) int {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return 0
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if code := codeOf(reflect.ValueOf(e)); code != 0 {
			return code
		}
	}
	return codeOfText(err.Error())
}

// primary is the low byte of an extended code.
func primary(err error) int { return errorCode(err) & 0xff }

func codeOf(v reflect.Value) int {
	for _, name := range []string{"ExtendedCode", "Code"} {
		if m := v.MethodByName(name); m.IsValid() && m.Type().NumIn() == 0 && m.Type().NumOut() == 1 {
			if code := number(m.Call(nil)[0]); code != 0 {
				return code
			}
		}
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct {
		for _, name := range []string{"ExtendedCode", "Code"} {
			if f := v.FieldByName(name); f.IsValid() {
				if code := number(f); code != 0 {
					return code
				}
			}
		}
		return 0
	}
	if strings.Contains(v.Type().String(), "sqlite3.") {
		return number(v)
	}
	return 0
}

func number(v reflect.Value) int {
	switch {
	case v.CanInt():
		return int(v.Int())
	case v.CanUint():
		return int(v.Uint())
	}
	return 0
}

func codeOfText(text string) int {
	for _, c := range []struct {
		code  int
		parts []string
	}{
		{codeBusy, []string{"database is locked", "SQLITE_BUSY"}},
		{codeLocked, []string{"database table is locked", "SQLITE_LOCKED"}},
		{codeFull, []string{"database or disk is full", "SQLITE_FULL"}},
		{codeIOErr, []string{"disk I/O error", "SQLITE_IOERR"}},
		{codeTooBig, []string{"string or blob too big", "SQLITE_TOOBIG"}},
	} {
		for _, part := range c.parts {
			if strings.Contains(text, part) {
				return c.code
			}
		}
	}
	return 0
}

// isBusy reports whether the write lock was taken by somebody else, so that trying again helps.
func isBusy(err error) bool {
	code := primary(err)
	return code == codeBusy || code == codeLocked
}

// isLost reports whether the connection is of no use any more.
func isLost(err error) bool {
	if errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return true
	}
	switch primary(err) {
	case codeIOErr, codeCantOpen, codeNotADB, codeCorrupt, codeReadOnly:
		return true
	}
	return false
}

// isTooBig reports whether SQLite refused a value for its size.
func isTooBig(err error) bool { return primary(err) == codeTooBig }
