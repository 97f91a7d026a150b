package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/orders"
)

// atDesk opens the database and lets use order something.
func (a *app) atDesk(ctx context.Context, use func(*orders.Desk) error) error {
	d, err := a.desk()
	if err != nil {
		return err
	}
	_, err = withClient(ctx, a, func(c *millrace.Client) (struct{}, error) {
		d.Client = c
		return struct{}{}, use(d)
	})
	switch d.Verdict {
	case orders.Refused:
		a.status = statusRefused
	case orders.Broken:
		a.status = statusStore
	default:
	}
	return err
}

// atList is atDesk for a list, which is empty where there is no database yet.
func (a *app) atList(ctx context.Context, use func(*orders.Desk) error) error {
	reached := false
	err := a.atDesk(ctx, func(d *orders.Desk) error {
		reached = true
		return use(d)
	})
	if reached || !errors.Is(err, errNoDatabase) {
		return err
	}
	d, err := a.desk()
	if err != nil {
		return err
	}
	return use(d)
}

func (a *app) desk() (*orders.Desk, error) {
	o, err := a.signed(millrace.Order{})
	d := &orders.Desk{
		Desk: a.plainDesk(), Who: o.By, In: a.in,
		Explain: func(err error) (code, message, hint string) { f := explain(err); return f.code, f.message, f.hint },
	}
	if isTerminal(a.in) && isTerminal(a.err) {
		d.Ask = a.ask
	}
	return d, err
}

// signed adds who orders it, user and machine, when nobody said.
func (a *app) signed(o millrace.Order) (millrace.Order, error) {
	if o.By != "" {
		return o, nil
	}
	host, err := hostName()
	if err != nil {
		return o, err
	}
	name := orElse(os.Getenv("USER"), os.Getenv("LOGNAME"))
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	o.By = orElse(name, "somebody") + "@" + host
	return o, nil
}

// ask asks on the terminal for a yes; no answer is no.
func (a *app) ask(question string) (bool, error) {
	fmt.Fprint(a.err, question)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && line == "" {
		fmt.Fprintln(a.err)
		return false, nil // the end of the input is an answer
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// declined tells how an order ends that was not carried out at all.
func declined(err error) (*failure, bool) {
	d, ok := errors.AsType[*orders.Declined](err)
	if !ok {
		return nil, false
	}
	f := &failure{status: statusRefused, code: d.Code, message: d.Message, hint: d.Hint}
	if d.Code == "usage" {
		f.status = statusUsage
	}
	return f, true
}
