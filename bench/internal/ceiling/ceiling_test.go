package ceiling

import (
	"strings"
	"testing"
)

func TestAMeasurementDoesWhatItCounts(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]Load{
		"one step":       {Runs: 700, Steps: 1, Batch: 200},
		"a chain":        {Runs: 30, Steps: 5, Batch: 7},
		"single commits": {Runs: 20, Steps: 2, Batch: 1},
		"cut short":      {Runs: 50, Steps: 3, Batch: 10, Limit: 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := Measure(t.Context(), t.TempDir()+"/ceiling.db", w)
			if err != nil {
				t.Fatal(err)
			}
			if f.Starts <= 0 || f.Steps <= 0 {
				t.Errorf("figures: %+v", f)
			}
		})
	}
}

func TestVerifyFindsWorkThatWasNotDone(t *testing.T) {
	t.Parallel()
	w := Load{Runs: 3, Steps: 1, Batch: 10}
	db, err := open(t.Context(), t.TempDir()+"/ceiling.db")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := db.start(w.Runs); err != nil {
		t.Fatal(err)
	}
	if err := verify(db, w, 0, 0); err != nil {
		t.Errorf("nothing was done, as claimed: %v", err)
	}
	if err := verify(db, w, 3, 3); err == nil || !strings.Contains(err.Error(), "was not done") {
		t.Errorf("got %v", err)
	}
}
