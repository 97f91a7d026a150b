package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
)

// prices are those of the shop, in cents.
var prices = map[string]int64{"tea": 850, "cup": 1200, "pot": 3400}

// request is what the services are asked; each reads its part.
type request struct {
	Order string `json:"order"`
	Lines []struct {
		SKU    string `json:"sku"`
		Pieces int64  `json:"pieces"`
	} `json:"lines"`
	Cents  int64 `json:"cents"`
	Pieces int64 `json:"pieces"`

	// How it is to go wrong: refused; done, but never answered; done, but not to be taken back.
	Refuse  bool `json:"refuse"`
	Silent  bool `json:"silent"`
	Dispute bool `json:"dispute"`
}

// service is one of the three: a ledger behind HTTP.
type service struct {
	name    string
	path    string // where it takes requests
	what    string // what an entry is called
	undo    string // and one that takes it back
	refusal int    // the status of one that it refuses
	book    *ledger
	log     *slog.Logger

	entry  func(request) (amount int64, answer map[string]any, err error)
	cancel string // the pattern of what takes an entry back
}

func services(log *slog.Logger) []*service {
	return []*service{
		{
			name: "stock", path: "/reservations", what: "reserved", undo: "put back", refusal: http.StatusConflict, log: log,
			cancel: "DELETE /reservations", entry: reservation,
		},
		{
			name: "payments", path: "/charges", what: "charged", undo: "refunded", refusal: http.StatusPaymentRequired, log: log,
			cancel: "POST /refunds",
			entry: func(r request) (int64, map[string]any, error) {
				return r.Cents, map[string]any{"cents": r.Cents}, positive(r.Cents, "cents")
			},
		},
		{
			name: "shipping", path: "/parcels", what: "sent", undo: "called back", refusal: http.StatusUnprocessableEntity, log: log,
			cancel: "DELETE /parcels",
			entry: func(r request) (int64, map[string]any, error) {
				return 1, map[string]any{"tracking": "parcel-" + r.Order[max(0, len(r.Order)-8):]}, positive(r.Pieces, "pieces")
			},
		},
	}
}

// reservation takes goods out of the stock and says what they cost.
func reservation(r request) (pieces int64, answer map[string]any, err error) {
	var cents int64
	for _, l := range r.Lines {
		price, ok := prices[l.SKU]
		if !ok {
			return 0, nil, fmt.Errorf("there is no %q in this shop", l.SKU)
		}
		if err := positive(l.Pieces, "pieces"); err != nil {
			return 0, nil, err
		}
		pieces, cents = pieces+l.Pieces, cents+l.Pieces*price
	}
	return pieces, map[string]any{"pieces": pieces, "cents": cents}, positive(pieces, "pieces")
}

func positive(n int64, what string) error {
	if n < 1 {
		return fmt.Errorf("%s must be more than 0", what)
	}
	return nil
}

// handler gives the service's ways.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+s.path, s.add)
	mux.HandleFunc(s.cancel, s.takeBack)
	mux.HandleFunc("GET /ledger", s.ledger)
	if s.name == "payments" {
		mux.HandleFunc("POST /settle", s.settle)
	}
	return mux
}

func (s *service) add(w http.ResponseWriter, r *http.Request) {
	var q request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&q); err != nil {
		s.refuse(w, r, http.StatusBadRequest, err)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	amount, answer, err := s.entry(q)
	switch {
	case key == "" || q.Order == "":
		s.refuse(w, r, http.StatusBadRequest, errors.New("the header Idempotency-Key and an order are needed"))
		return
	case err != nil:
		s.refuse(w, r, http.StatusBadRequest, err)
		return
	case q.Refuse: // nothing is written, so that the same request may be done another time
		s.refuse(w, r, s.refusal, fmt.Errorf("%s refuses, as it was asked to", s.name))
		return
	}
	if err := s.book.add(r.Context(), entry{Key: key, Order: q.Order, What: s.what, Amount: amount}, q.Dispute); err != nil {
		s.refuse(w, r, statusOf(err), err)
		return
	}
	if q.Silent {
		s.log.Info(s.name, "did", s.what, "amount", amount, "answer", "lost")
		panic(http.ErrAbortHandler)
	}
	s.answer(w, r, http.StatusCreated, answer)
}

func (s *service) takeBack(w http.ResponseWriter, r *http.Request) {
	key, of := r.Header.Get("Idempotency-Key"), r.URL.Query().Get("key")
	if key == "" || of == "" {
		s.refuse(w, r, http.StatusBadRequest, errors.New("the header Idempotency-Key, and the key of what is taken back, are needed"))
		return
	}
	e, err := s.book.undo(r.Context(), key, of, s.undo)
	if err != nil {
		s.refuse(w, r, statusOf(err), err)
		return
	}
	s.answer(w, r, http.StatusOK, e)
}

func (s *service) ledger(w http.ResponseWriter, r *http.Request) {
	all, err := s.book.all(r.Context())
	if err != nil {
		s.refuse(w, r, statusOf(err), err)
		return
	}
	s.answer(w, r, http.StatusOK, all)
}

func (s *service) settle(w http.ResponseWriter, r *http.Request) {
	if err := s.book.settle(r.Context()); err != nil {
		s.refuse(w, r, statusOf(err), err)
		return
	}
	s.answer(w, r, http.StatusOK, map[string]string{"disputes": "settled"})
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, errDisputed):
		return http.StatusConflict
	case errors.Is(err, errCancelled):
		return http.StatusGone
	case errors.Is(err, errReused):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

func (s *service) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	s.answer(w, r, status, map[string]string{"error": err.Error()})
}

func (s *service) answer(w http.ResponseWriter, r *http.Request, status int, body any) {
	if r.Method != http.MethodGet {
		s.log.Info(s.name, "asked", r.Method+" "+r.URL.Path, "answer", status)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.log.Error(s.name, "answer", err)
	}
}
