package storekit

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func TestRefuseUnbuilt(t *testing.T) {
	plain := driver.InsertParams{
		Kind: "k", Queue: "q", Args: []byte("{}"), Meta: map[string]string{"k": "v"}, Tags: []string{"t"}, Title: "title", Priority: 1,
		MaxAttempts: 1, Timeout: 1, RunAt: noon, Delay: 1, Deadline: noon, RecurringID: "nightly",
		// Without a key these mean nothing.
		UniqueKey: []byte{}, UniqueFor: 1, UniqueDebounce: 1, LimitMax: 1, LimitRate: 1, LimitPer: time.Second, LimitBurst: 1,
		BatchID: 1, AfterBatch: 2, Parents: []driver.Parent{{ID: 1, On: driver.OnSucceeded}},
	}
	if err := RefuseUnbuilt([]driver.InsertParams{plain, plain}); err != nil {
		t.Errorf("plain jobs: %v", err)
	}
	if err := RefuseUnbuilt(nil); err != nil {
		t.Errorf("no jobs: %v", err)
	}
	for field, change := range map[string]func(*driver.InsertParams){
		"UniqueKey": func(j *driver.InsertParams) { j.UniqueKey = []byte{0} },
		"LimitKey":  func(j *driver.InsertParams) { j.LimitKey = "api" },
	} {
		job := plain
		change(&job)
		err := RefuseUnbuilt([]driver.InsertParams{plain, plain, job})
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "job 2 of 3: "+field) {
			t.Errorf("%s: %v, want ErrUnsupported with the job and the field", field, err)
		}
	}
}
