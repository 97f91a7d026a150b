package eval

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"strconv"
)

// number is a number to compute with: a whole number of 64 bits or a finite double.
type number struct {
	whole bool
	i     int64
	f     float64
}

// numberOf gives the number that a value is; ok tells whether it is one. A JSON number without fraction and exponent that
// fits 64 bits is whole, every other is a double; one beyond the doubles is a fault.
func numberOf(v any) (n number, ok bool, err error) {
	switch v := v.(type) {
	case int64:
		return number{whole: true, i: v}, true, nil
	case float64:
		return number{f: v}, true, nil
	case numeral:
		if !bytes.ContainsAny(v, ".eE") && len(v) <= 20 {
			if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
				return number{whole: true, i: i}, true, nil
			}
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return number{}, true, failf("a number it computes with is too large for a double")
		}
		return number{f: f}, true, nil
	}
	return number{}, false, nil
}

func (n number) float() float64 {
	if n.whole {
		return float64(n.i)
	}
	return n.f
}

func (n number) value() any {
	if n.whole {
		return n.i
	}
	return n.f
}

// asWhole gives the whole number that n equals.
func (n number) asWhole() (int64, bool) {
	if n.whole {
		return n.i, true
	}
	if n.f != math.Trunc(n.f) || math.Abs(n.f) >= 1<<53 {
		return 0, false
	}
	return int64(n.f), true
}

// compare orders numbers by value, exactly: a whole number is not rounded to a double first.
func (n number) compare(m number) int {
	switch {
	case n.whole && m.whole:
		return cmp.Compare(n.i, m.i)
	case n.whole:
		return compareMixed(n.i, m.f)
	case m.whole:
		return -compareMixed(m.i, n.f)
	}
	return cmp.Compare(n.f, m.f)
}

func compareMixed(i int64, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -(1 << 63):
		return 1
	}
	t := math.Trunc(f)
	if c := cmp.Compare(i, int64(t)); c != 0 {
		return c
	}
	return cmp.Compare(t, f)
}

// AppendNumber writes a computed number: whole ones and doubles below 2^53 without fraction as digits, other doubles as the
// shortest text that reads back the same and is seen to be a double.
func AppendNumber(dst []byte, v any) []byte {
	switch v := v.(type) {
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		if i, ok := (number{f: v}).asWhole(); ok {
			return strconv.AppendInt(dst, i, 10)
		}
		if a := math.Abs(v); a < 1e-6 || a >= 1<<53 {
			return strconv.AppendFloat(dst, v, 'e', -1, 64)
		}
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	return dst
}

// beyond is the fault of a whole number that leaves the 64 bits.
func beyond() *Fault {
	return failf("the whole number leaves the 64 bits").
		Instead("make one side a double with float() where rounding does no harm")
}

// finite gives a double, or the fault of a result that is no number.
func finite(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, failf("the result is not a finite number")
	}
	return f, nil
}

func add(a, b number) (any, error) {
	if !a.whole || !b.whole {
		return finite(a.float() + b.float())
	}
	s := a.i + b.i
	if (a.i^s)&(b.i^s) < 0 {
		return nil, beyond()
	}
	return s, nil
}

func subtract(a, b number) (any, error) {
	if !a.whole || !b.whole {
		return finite(a.float() - b.float())
	}
	d := a.i - b.i
	if (a.i^b.i)&(a.i^d) < 0 {
		return nil, beyond()
	}
	return d, nil
}

func multiply(a, b number) (any, error) {
	if !a.whole || !b.whole {
		return finite(a.float() * b.float())
	}
	p, ok := product(a.i, b.i)
	if !ok {
		return nil, beyond()
	}
	return p, nil
}

// product multiplies without wrapping.
func product(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	negative := (a < 0) != (b < 0)
	switch {
	case hi != 0:
		return 0, false
	case negative && lo <= 1<<63:
		return -int64(lo), true // 1<<63 wraps to the smallest int64, which is the result
	case !negative && lo <= math.MaxInt64:
		return int64(lo), true
	}
	return 0, false
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// divide gives a whole number when whole numbers divide without rest, so that nothing is rounded, and else a double.
func divide(a, b number) (any, error) {
	if b.float() == 0 {
		return nil, failf("division by zero")
	}
	if a.whole && b.whole {
		if b.i == -1 {
			return negate(a)
		}
		if a.i%b.i == 0 {
			return a.i / b.i, nil
		}
	}
	return finite(a.float() / b.float())
}

func modulo(a, b number) (any, error) {
	if !a.whole || !b.whole {
		return nil, failf("%% needs whole numbers").Instead("convert with int()")
	}
	if b.i == 0 {
		return nil, failf("division by zero")
	}
	if b.i == -1 {
		return int64(0), nil
	}
	return a.i % b.i, nil
}

// power is exact for whole numbers with an exponent of zero or more.
func power(a, b number) (any, error) {
	if !a.whole || !b.whole || b.i < 0 {
		return finite(math.Pow(a.float(), b.float()))
	}
	result, base := int64(1), a.i
	for n := b.i; n > 0; {
		var ok bool
		if n&1 == 1 {
			if result, ok = product(result, base); !ok {
				return nil, beyond()
			}
		}
		if n >>= 1; n == 0 {
			break
		}
		if base, ok = product(base, base); !ok {
			return nil, beyond()
		}
	}
	return result, nil
}

func negate(a number) (any, error) {
	if !a.whole {
		return finite(-a.f)
	}
	if a.i == math.MinInt64 {
		return nil, beyond()
	}
	return -a.i, nil
}

// truncate gives the whole part, as int() does.
func truncate(a number) (any, error) {
	if a.whole {
		return a.i, nil
	}
	if a.f >= 1<<63 || a.f < -(1<<63) {
		return nil, beyond()
	}
	return int64(a.f), nil
}

// asInt64 gives the whole number of 64 bits that n equals, exactly.
func (n number) asInt64() (int64, bool) {
	if n.whole {
		return n.i, true
	}
	if n.f != math.Trunc(n.f) || n.f >= 1<<63 || n.f < -(1<<63) {
		return 0, false
	}
	return int64(n.f), true
}
