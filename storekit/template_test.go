package storekit

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// TestTemplate sends a job with a value in every field there and back. A field that is added to the contract fails it until the
// template keeps it too.
func TestTemplate(t *testing.T) {
	full := driver.InsertParams{
		Kind: "report", Queue: "mail", Args: []byte(" {\"a\": \"\\u0000\"}\n"), Meta: map[string]string{"a": "<&>"}, Tags: []string{"b", "a"}, Title: "Täglich",
		Priority: math.MinInt16, MaxAttempts: 3, Timeout: 1500 * time.Millisecond, RunAt: time.UnixMicro(1).UTC(), Delay: 3,
		UniqueKey: []byte{0, 255}, UniqueFor: 4, UniqueReplace: true, UniqueDebounce: 5,
		LimitKey: "k", LimitMax: 6, LimitRate: 7, LimitPer: 8, LimitBurst: 9, BatchID: 10, AfterBatch: 11,
		Parents: []driver.Parent{{ID: 12, Index: 13, On: driver.OnFailed}}, RecurringID: "r", Deadline: time.UnixMicro(14).UTC(),
	}
	v := reflect.ValueOf(full)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the test leaves %s out", v.Type().Field(i).Name)
		}
	}
	for _, p := range []driver.InsertParams{{}, full, {Kind: "k", Timeout: -1}} {
		text, err := EncodeTemplate(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeTemplate([]byte(text))
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%s\n%+v comes back as\n%+v, %v", text, p, got, err)
		}
	}
	text, err := EncodeTemplate(driver.InsertParams{Title: "\xff", Tags: []string{"\xff"}, Timeout: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeTemplate([]byte(text))
	if err != nil || got.Title != "\uFFFD" || got.Tags[0] != "\uFFFD" || got.Timeout != time.Millisecond {
		t.Errorf("cleaned: %+v, %v", got, err)
	}
	if _, err := DecodeTemplate([]byte("{")); err == nil {
		t.Error("a broken template decodes")
	}
}
