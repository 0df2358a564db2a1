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
		UniqueKey: []byte{0}, LimitKey: "api", UniqueFor: 1, UniqueDebounce: 1, LimitMax: 1, LimitRate: 1, LimitPer: time.Second, LimitBurst: 1,
		Parents: []driver.Parent{},
	}
	if err := RefuseUnbuilt([]driver.InsertParams{plain, plain}); err != nil {
		t.Errorf("plain jobs: %v", err)
	}
	if err := RefuseUnbuilt(nil); err != nil {
		t.Errorf("no jobs: %v", err)
	}
	for field, change := range map[string]func(*driver.InsertParams){
		"BatchID":    func(j *driver.InsertParams) { j.BatchID = 1 },
		"AfterBatch": func(j *driver.InsertParams) { j.AfterBatch = 1 },
		"Parents":    func(j *driver.InsertParams) { j.Parents = []driver.Parent{{ID: 1, On: driver.OnSucceeded}} },
	} {
		job := plain
		change(&job)
		err := RefuseUnbuilt([]driver.InsertParams{plain, plain, job})
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "job 2 of 3: "+field) {
			t.Errorf("%s: %v, want ErrUnsupported with the job and the field", field, err)
		}
	}
}
