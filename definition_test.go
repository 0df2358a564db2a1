package kiln

import (
	"reflect"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// TestCompareSeesEveryField changes each field of a stored recurring job by itself: all but those that a definition does not say are
// differences, those of the template included.
func TestCompareSeesEveryField(t *testing.T) {
	def, err := newDefinition("group", RecurringSpec{ID: "id", Spec: "@daily", Args: compared{}, Options: []RecurringOption{
		TZ("Europe/Berlin"), Misfire(1), Tags{"t"}, Meta{"k": "v"}, Timeout(time.Second),
	}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	stored := driver.Recurring{ID: "id", Version: 3, NextRunAt: now, LastRunAt: now, LastJobID: 7, CreatedAt: now, UpdatedAt: now}
	def.apply(&stored)
	if same, moved := def.compare(&stored); !same || moved {
		t.Fatal("a definition differs from itself")
	}
	unsaid := map[string]bool{"ID": true, "Paused": true, "LastRunAt": true, "LastJobID": true, "CreatedAt": true, "UpdatedAt": true, "Version": true}
	moves := map[string]bool{"Spec": true, "Location": true}
	eachField(t, reflect.ValueOf(&stored).Elem(), "", func(name string) {
		same, moved := def.compare(&stored)
		if same != unsaid[name] || moved != moves[name] {
			t.Errorf("another %s: same %v, moved %v", name, same, moved)
		}
	})
	stored.NextRunAt = time.Time{}
	if same, moved := def.compare(&stored); same || !moved {
		t.Error("one without a next run is not scheduled anew")
	}
}

type compared struct{}

func (compared) Kind() string { return "compared" }

// eachField changes one field after the other and calls f with its name.
func eachField(t *testing.T, v reflect.Value, prefix string, f func(name string)) {
	for i := range v.NumField() {
		field, name := v.Field(i), prefix+v.Type().Field(i).Name
		if name == "NextRunAt" {
			continue // what it is, is the schedule's own
		}
		if field.Kind() == reflect.Struct && field.Type() != reflect.TypeFor[time.Time]() {
			eachField(t, field, name+".", f)
			continue
		}
		old := reflect.ValueOf(field.Interface())
		switch value := field.Addr().Interface().(type) {
		case *time.Time:
			*value = value.Add(time.Hour)
		case *[]byte:
			*value = append([]byte{1}, *value...)
		case *[]string:
			*value = append([]string{"other"}, *value...)
		case *[]driver.Parent:
			*value = []driver.Parent{{ID: 1, On: driver.OnFailed}}
		case *map[string]string:
			*value = map[string]string{"other": ""}
		case *bool:
			*value = !*value
		case *string:
			*value += "x"
		default:
			switch {
			case field.CanInt():
				field.SetInt(field.Int() + 1_000_000)
				if field.Type() == reflect.TypeFor[int16]() {
					field.SetInt(9)
				}
			case field.CanUint():
				field.SetUint(field.Uint() + 1)
			default:
				t.Fatalf("%s: a %s", name, field.Type())
			}
		}
		f(name)
		field.Set(old)
	}
}
