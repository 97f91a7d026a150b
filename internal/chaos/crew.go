package chaos

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/millrace-go/millrace/internal/chaos/internal/lease"
	"github.com/millrace-go/millrace/internal/chaos/internal/load"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/store"
)

// Crews are those of the processes of a plan, for fleet.Main of the test that plays it.
func Crews() map[string]fleet.Crew {
	return map[string]fleet.Crew{
		engines: {Handlers: load.Handlers, Store: equip(func(*fleet.Workplace, store.Store) error { return nil })},
		drivers: {Store: equip(load.BeginDriver)},
		robots: {Store: equip(func(_ *fleet.Workplace, st store.Store) error {
			load.BeginRobot(st)
			return nil
		})},
	}
}

// equip puts the fault that is planted before the store, and before that the recorder, which sees what the process sees; then
// it begins what the process does besides.
func equip(begin func(*fleet.Workplace, store.Store) error) func(*fleet.Workplace, store.Store) store.Store {
	return func(w *fleet.Workplace, st store.Store) store.Store {
		var x settings
		err := json.Unmarshal(w.Options.Extra, &x)
		var r *lease.Recorder
		if err == nil {
			r, err = lease.NewRecorder(plant(x.Planted, w, st), w.Options.Folder, w.Owner)
		}
		if err == nil {
			err = begin(w, r)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return r
	}
}
