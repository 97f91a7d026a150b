package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/store"
)

// Drive is what the driver's process gets as Extra.
type Drive struct {
	Seed  uint64        `json:"seed"`
	Every time.Duration `json:"every"` // time between two starts
	Most  int           `json:"most"`  // starts in all; 0: no limit
}

// Accepted says that a start was acknowledged.
type Accepted struct {
	Case  int    `json:"case"`
	Run   string `json:"run"`
	At    int64  `json:"at"`      // when it was first asked for, in milliseconds since 1970
	Took  int64  `json:"took_ms"` // from then until it was acknowledged
	Tries int    `json:"tries"`
}

const acceptedEnding = ".accepted"

// driver starts cases.
type driver struct {
	o      Drive
	engine *millrace.Engine
	mu     sync.Mutex
	out    *os.File
}

// BeginDriver has cases started at st from now on, by a process that lives as long as it does so.
func BeginDriver(w *fleet.Workplace, st store.Store) error {
	d := &driver{}
	if err := json.Unmarshal(w.Options.Extra, &d.o); err != nil {
		return fmt.Errorf("read what the driver is to do: %w", err)
	}
	var err error
	if d.engine, err = millrace.New(st, millrace.Config{}); err != nil {
		return err
	}
	name := filepath.Join(w.Options.Folder, w.Owner+acceptedEnding)
	if d.out, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	go d.drive(context.Background())
	return nil
}

// crowd is how many starts may wait to be accepted.
const crowd = 200

func (d *driver) drive(ctx context.Context) {
	places := make(chan struct{}, crowd)
	tick := time.NewTicker(d.o.Every)
	defer tick.Stop()
	for n := 0; d.o.Most == 0 || n < d.o.Most; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		places <- struct{}{}
		go func() {
			defer func() { <-places }()
			d.start(ctx, n)
		}()
	}
}

// start asks until it is accepted; every tenth once more after that.
func (d *driver) start(ctx context.Context, n int) {
	c := Draw(d.o.Seed, n)
	begun := time.Now()
	times := 1
	if n%10 == 0 {
		times = 2
	}
	tries := 0
	for times > 0 && ctx.Err() == nil {
		tries++
		s, err := d.engine.Start(ctx, millrace.StartRequest{Workflow: c.Workflow, Key: c.Key, Input: c.Input})
		if errors.Is(err, millrace.ErrConflict) { // it never is one: the history shows it as a case that nobody accepted
			return
		}
		if err != nil {
			pause(ctx, 100*time.Millisecond)
			continue
		}
		times--
		took := time.Since(begun)
		if err := d.accepted(Accepted{Case: n, Run: s.RunID, At: begun.UnixMilli(), Took: took.Milliseconds(), Tries: tries}); err != nil {
			return
		}
		begun, tries = time.Now(), 0
	}
}

func (d *driver) accepted(a Accepted) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err = d.out.Write(append(raw, '\n'))
	return err
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// ReadAccepted reads what drivers with this folder were told.
func ReadAccepted(folder string) (all []Accepted, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*"+acceptedEnding))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		in := bufio.NewReader(file)
		for {
			raw, err := in.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				break
			}
			var a Accepted
			if err = errors.Join(err, json.Unmarshal(raw, &a)); err != nil {
				return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
			}
			all = append(all, a)
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// BeginRobot has every open dead letter redriven at st from now on, by a process that lives as long as it does so.
func BeginRobot(st store.Store) {
	go func() {
		ctx := context.Background()
		client := millrace.NewClient(st)
		for ctx.Err() == nil {
			redrive(ctx, client)
			pause(ctx, 300*time.Millisecond)
		}
	}()
}

// redrive redrives what is open now. What cannot be done now is open still the next time.
func redrive(ctx context.Context, client *millrace.Client) {
	call, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	letters, _, err := client.DeadLetters(call, store.LetterFilter{Tenant: millrace.DefaultTenant, State: "open", Limit: 500})
	if err != nil {
		return
	}
	for i := range letters {
		_, err := client.Redrive(call, millrace.DefaultTenant, letters[i].ID, millrace.RedriveOrder{Order: millrace.Order{By: "robot"}})
		if err != nil && call.Err() != nil {
			return
		}
	}
}
