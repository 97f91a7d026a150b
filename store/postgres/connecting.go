package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// faultOpening is fault for what comes before the store is open: there nothing is asked of whose content the server could
// complain, so that every fault lies in how the database is named or how it is set up.
func (s *Store) faultOpening(ctx context.Context, op string, err error) error {
	op = strings.TrimSuffix(op, " ")
	if !wire.Refused(err) {
		err = s.fault(ctx, op, err)
	}
	var done *store.StoreError
	if err == nil || errors.As(err, &done) {
		return err
	}
	return &store.StoreError{
		Op: op, Kind: store.ErrUnusable, Err: cause(err),
		Hint: "look at the settings of the URL, at the variables PG*, and at the log of the server",
	}
}

// cause gives in one line what the server or the network said, without the list of all that was tried before, and without the
// URL, which may hold a password in places where the driver does not look for one.
func cause(err error) error {
	var parse *pgconn.ParseConfigError
	var failure *pgconn.PgError
	var dns *net.DNSError
	var network *net.OpError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &parse):
		text := parse.Error()
		if i := strings.LastIndex(text, "`: "); i >= 0 {
			return errors.New("the URL cannot be read: " + inLine(text[i+len("`: "):]))
		}
		return errors.New("the URL cannot be read")
	case errors.As(err, &failure):
		return failure
	case errors.As(err, &dns):
		return dns
	case errors.As(err, &network):
		return network
	case errors.As(err, &connect):
		return errors.New(inLine(last(connect.Unwrap()).Error()))
	}
	return err
}

// last gives the last of errors that were joined: what was tried last.
func last(err error) error {
	for {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok || len(joined.Unwrap()) == 0 {
			return err
		}
		all := joined.Unwrap()
		err = all[len(all)-1]
	}
}

func inLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// diagnoseConnect gives the kind of a fault of connecting, and what to do about it.
func (s *Store) diagnoseConnect(err error) (hint string, kind error) {
	var parse *pgconn.ParseConfigError
	var dns *net.DNSError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &parse):
		return "write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE, and look at the variables PG* and the service file, " +
			"which fill in what it leaves out", store.ErrUnusable
	case errors.As(err, &dns):
		return fmt.Sprintf("the host %s is not known: look for a mistake in its name", dns.Name), store.ErrUnavailable
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return fmt.Sprintf("nothing listens at %s: start PostgreSQL there, or correct host and port", s.place), store.ErrUnavailable
	case !errors.As(err, &connect):
		return "", nil
	}
	switch {
	case lacksTLS(connect):
		return "the server offers no TLS: have it turned on, or say sslmode=disable", store.ErrUnusable
	case strings.Contains(err.Error(), "ValidateConnect failed"):
		return "no host of the URL is what target_session_attrs asks for", store.ErrUnavailable
	}
	return fmt.Sprintf("no connection to %s: look whether the server runs and the network lets you through", s.place),
		store.ErrUnavailable
}

// lacksTLS says whether every try failed because the server offers no TLS. Where the URL does not insist on it, that is only how the
// first of two ended: what the other one met is what is wrong.
func lacksTLS(err *pgconn.ConnectError) bool {
	tries := []error{err.Unwrap()}
	if joined, ok := tries[0].(interface{ Unwrap() []error }); ok {
		tries = joined.Unwrap()
	}
	return !slices.ContainsFunc(tries, func(e error) bool { return !strings.Contains(e.Error(), "server refused TLS connection") })
}
