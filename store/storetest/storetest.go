// Package storetest is what a store is: one suite of tests that every implementation runs, and a comparison with a model.
//
// Nouns: a [Harness] is one open store with what a test may do around it; [Run] holds the store to its contract, rule by
// rule; [Model] does the same random things to a store and to its model and compares all that can be seen. Runs are made by
// hand here: a store does not know what a workflow means.
//
// It imports store and machine, and the testing libraries.
package storetest

//tidy:allow pkglen the contract is one suite on purpose: what a store must do stands in one place, in files by subject

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/store"
)

// Harness is one open, empty store. Who opens it also closes it, with t.Cleanup.
type Harness struct {
	Store store.Store
	// Advance moves the store's clock, which otherwise stands still. Nil: its clock is a real one, and what needs to move it
	// is left out.
	Advance func(d time.Duration)
	// Reopen closes Store and opens the same data again. Nil: nothing outlives the store.
	Reopen func(t *testing.T) store.Store
	// Second gives another handle on the same data, open at the same time. Nil: there is none.
	Second func(t *testing.T) store.Store
	// Damage writes over a stored document, the root's at "", as somebody might by hand. Nil: nobody can.
	Damage func(t *testing.T, runID, path string, doc []byte)
}

// trial is one rule of the contract.
type trial struct {
	name string
	hold func(*fixture)
	// need says whether the rule can be asked of such a store; nil: of any.
	need func(Harness) bool
}

func movesClock(h Harness) bool { return h.Advance != nil }
func reopens(h Harness) bool    { return h.Reopen != nil }
func damages(h Harness) bool    { return h.Damage != nil }

// Run runs the contract as parallel subtests, each on a store of its own that open gives.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	subjects := []struct {
		name   string
		trials []trial
	}{
		{"Definitions", definitionTrials},
		{"Start", startTrials},
		{"Key", keyTrials},
		{"Claim", claimTrials},
		{"Settle", settleTrials},
		{"Effects", effectTrials},
		{"HandOver", handOverTrials},
		{"Hold", holdTrials},
		{"Letters", letterTrials},
		{"Endings", endingTrials},
		{"Pauses", pauseTrials},
		{"Damage", damageTrials},
		{"Leases", leaseTrials},
		{"Mailbox", mailboxTrials},
		{"Readers", readerTrials},
		{"Queues", queueTrials},
		{"Keeping", keepingTrials},
		{"Tenants", tenantTrials},
		{"Doors", doorTrials},
		{"Handles", handleTrials},
	}
	able := open(t)
	for _, subject := range subjects {
		t.Run(subject.name, func(t *testing.T) {
			t.Parallel()
			for _, trial := range subject.trials {
				if trial.need != nil && !trial.need(able) {
					continue
				}
				t.Run(trial.name, func(t *testing.T) {
					t.Parallel()
					trial.hold(newFixture(t, open(t)))
				})
			}
		})
	}
}
