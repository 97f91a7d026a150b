package supply

import "time"

// Aboard counts whose runs are being settled, so that what a tenant hands in who has nothing there need not wait for what
// others have in hand. The zero value with Settlers set is ready for use.
type Aboard struct {
	// Settlers is how many settlements may be in flight at once, beside one of guests.
	Settlers int

	settling int            // settlements in flight
	runs     int            // that are being settled
	tenants  map[string]int // the same, by tenant
	held     map[string]int // attempts that are not settled, by tenant
	guests   bool           // a settlement of guests is in flight
	rested   time.Time      // when the next may be
}

// rest is how many times as long as a settlement of guests takes there is none after it: where many tenants have long lines,
// everybody would be a guest, and transactions small.
const rest = 4

// Begin says that a settlement is in flight.
func (a *Aboard) Begin(guests bool) {
	if a.settling++; guests {
		a.guests = true
	}
}

// End says that it is over.
func (a *Aboard) End(guests bool, began, now time.Time) {
	if a.settling--; guests {
		a.guests, a.rested = false, now.Add(rest*now.Sub(began))
	}
}

// Enter says that a run of a tenant is being settled.
func (a *Aboard) Enter(tenant string) {
	if a.tenants == nil {
		a.tenants = map[string]int{}
	}
	a.tenants[tenant]++
	a.runs++
}

// Leave says that it no longer is.
func (a *Aboard) Leave(tenant string) {
	a.runs--
	if a.tenants[tenant]--; a.tenants[tenant] == 0 {
		delete(a.tenants, tenant)
	}
}

// Runs gives how many are being settled.
func (a *Aboard) Runs() int { return a.runs }

// Hold says that an attempt of a tenant is in hand.
func (a *Aboard) Hold(tenant string) {
	if a.held == nil {
		a.held = map[string]int{}
	}
	a.held[tenant]++
}

// Release says that it no longer is.
func (a *Aboard) Release(tenant string) {
	if a.held[tenant]--; a.held[tenant] == 0 {
		delete(a.held, tenant)
	}
}

// Seats says whether a run of a tenant is a guest: nothing of the tenant is being settled, and it would have to wait, since all
// settlers are busy, or since they wait for more, and there is no more of the tenant, but of others.
func (a *Aboard) Seats(tenant string, now time.Time) bool {
	lonely := a.held[tenant] <= 1 && len(a.held) > 1
	return (lonely || a.settling >= a.Settlers) && a.tenants[tenant] == 0 && !a.guests && !now.Before(a.rested)
}
