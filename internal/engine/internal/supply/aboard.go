package supply

import "time"

// Aboard counts whose runs are being settled, so that what a tenant hands in who has nothing there need not wait for what
// others have in hand. The zero value with Settlers set is ready for use.
type Aboard struct {
	// Settlers is how many settlements may be in flight at once, beside one of guests.
	Settlers int

	settling int            // settlements in flight
	tenants  map[string]int // runs that are being settled
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
}

// Leave says that it no longer is.
func (a *Aboard) Leave(tenant string) {
	if a.tenants[tenant]--; a.tenants[tenant] == 0 {
		delete(a.tenants, tenant)
	}
}

// Seats says whether a run of a tenant is a guest: all settlers are busy, and not with the tenant.
func (a *Aboard) Seats(tenant string, now time.Time) bool {
	return a.settling >= a.Settlers && a.tenants[tenant] == 0 && !a.guests && !now.Before(a.rested)
}
