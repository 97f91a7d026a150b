// Command shop is what order.yaml talks to: a stock, a bank and a carrier, each an HTTP service with a ledger of its own, and no
// transaction around them.
//
// What is asked twice with the same Idempotency-Key is done once. What is taken back before it came is not done when it comes.
// See README.md beside the workflow.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"text/tabwriter"
	"time"
)

const help = `shop serves the stock, the bank and the carrier of examples/order-saga.

  go run ./examples/order-saga/shop            serves until it is interrupted
  go run ./examples/order-saga/shop books      prints what the three ledgers say of each order

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "shop:", err)
		}
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string, out, messages io.Writer) (err error) {
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.Usage = func() {
		fmt.Fprint(messages, help)
		flags.PrintDefaults()
	}
	folder := flags.String("folder", "examples/order-saga/ledgers", "where the ledgers are")
	port := flags.Int("port", 7701, "the first of three ports; 0: any that are free")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := os.MkdirAll(*folder, 0o750); err != nil {
		return err
	}
	all := services(slog.New(slog.NewTextHandler(messages, nil)))
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.book.close())
		}
	}()
	for _, s := range all {
		if s.book, err = open(filepath.Join(*folder, s.name+".db")); err != nil {
			return err
		}
	}
	switch flags.Arg(0) {
	case "":
		return serve(ctx, all, *port, out)
	case "books":
		return books(ctx, all, out)
	}
	return fmt.Errorf("%q is unknown; write books, or nothing", flags.Arg(0))
}

// serve serves all until ctx ends. It prints where each of them is.
func serve(ctx context.Context, all []*service, port int, out io.Writer) error {
	ended := make(chan error, len(all))
	var servers []*http.Server
	for i, s := range all {
		at := 0
		if port != 0 {
			at = port + i
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(at)))
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w; is another shop open? -port takes other ports", s.name, err), closeAll(servers))
		}
		server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
		servers = append(servers, server)
		go func() { ended <- server.Serve(listener) }()
		fmt.Fprintf(out, "%-9s http://%s\n", s.name, listener.Addr())
	}
	select {
	case <-ctx.Done():
		return closeAll(servers)
	case err := <-ended:
		return errors.Join(err, closeAll(servers))
	}
}

func closeAll(servers []*http.Server) (err error) {
	for _, s := range servers {
		err = errors.Join(err, s.Close())
	}
	return err
}

// books prints, for each order, what the ledgers hold of it. An order is whole when all three have something, and undone when none
// has.
func books(ctx context.Context, all []*service, out io.Writer) error {
	var orders []string
	sums := map[string][]int64{}
	for i, s := range all {
		entries, err := s.book.all(ctx)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if sums[e.Order] == nil {
				orders, sums[e.Order] = append(orders, e.Order), make([]int64, len(all))
			}
			sums[e.Order][i] += e.Amount
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ORDER\tRESERVED\tCHARGED\tSENT\tSO IT IS")
	for _, o := range orders {
		n := sums[o]
		fmt.Fprintf(table, "%s\t%d\t%d.%02d\t%d\t%s\n", o, n[0], n[1]/100, n[1]%100, n[2], verdict(n))
	}
	return table.Flush()
}

func verdict(sums []int64) string {
	open := 0
	for _, n := range sums {
		if n != 0 {
			open++
		}
	}
	switch open {
	case 0:
		return "as if it had never been"
	case len(sums):
		return "delivered"
	}
	return "neither done nor undone"
}
