package eval

import (
	"math"
	"slices"
	"strconv"
)

// numberFunctions compute with numbers.
var numberFunctions = map[string]Builtin{
	"abs":     {[]argument{aNumber}, 1, 1, IsNumeric, absolute},
	"ceil":    {[]argument{aNumber}, 1, 1, IsNumeric, rounding(math.Ceil)},
	"floor":   {[]argument{aNumber}, 1, 1, IsNumeric, rounding(math.Floor)},
	"round":   {[]argument{aNumber}, 1, 1, IsNumeric, rounding(math.Round)},
	"int":     {[]argument{anything}, 1, 1, IsNumeric, toInt},
	"float":   {[]argument{anything}, 1, 1, IsNumeric, toFloat},
	"max":     {[]argument{anything}, 1, math.MaxInt, IsNumeric | IsNull, extreme(func(c int) bool { return c > 0 })},
	"min":     {[]argument{anything}, 1, math.MaxInt, IsNumeric | IsNull, extreme(func(c int) bool { return c < 0 })},
	"mean":    {[]argument{anything}, 1, math.MaxInt, IsNumeric, mean},
	"median":  {[]argument{anything}, 1, math.MaxInt, IsNumeric, median},
	"bitand":  bitwise(func(x, y int64) (int64, bool) { return x & y, true }),
	"bitor":   bitwise(func(x, y int64) (int64, bool) { return x | y, true }),
	"bitxor":  bitwise(func(x, y int64) (int64, bool) { return x ^ y, true }),
	"bitnand": bitwise(func(x, y int64) (int64, bool) { return x &^ y, true }),
	"bitshl":  bitwise(shiftLeft),
	"bitshr":  bitwise(func(x, y int64) (int64, bool) { return x >> min(uint64(y), 63), y >= 0 }),
	"bitushr": bitwise(func(x, y int64) (int64, bool) { return int64(uint64(x) >> uint64(y)), y >= 0 }),
	"bitnot": {[]argument{aWhole}, 1, 1, IsNumeric, func(_ *Evaluator, args []any) (any, error) {
		return ^args[0].(int64), nil
	}},
}

func absolute(_ *Evaluator, args []any) (any, error) {
	n := args[0].(number)
	if n.float() < 0 {
		return negate(n)
	}
	return n.value(), nil
}

// rounding leaves whole numbers as they are.
func rounding(f func(float64) float64) func(*Evaluator, []any) (any, error) {
	return func(_ *Evaluator, args []any) (any, error) {
		n := args[0].(number)
		if n.whole {
			return n.i, nil
		}
		return f(n.f), nil
	}
}

func toInt(_ *Evaluator, args []any) (any, error) {
	n, err := converting(args[0], func(s string) (number, bool) {
		i, err := strconv.ParseInt(s, 10, 64)
		return number{whole: true, i: i}, err == nil
	})
	if err != nil {
		return nil, err
	}
	return truncate(n)
}

func toFloat(_ *Evaluator, args []any) (any, error) {
	n, err := converting(args[0], func(s string) (number, bool) {
		f, err := strconv.ParseFloat(s, 64)
		return number{f: f}, err == nil
	})
	if err != nil {
		return nil, err
	}
	return finite(n.float())
}

// converting gives the number that a number or a text is.
func converting(v any, parse func(string) (number, bool)) (number, error) {
	if n, ok, err := numberOf(v); ok || err != nil {
		return n, err
	}
	s, ok, err := text(v)
	if err != nil {
		return number{}, err
	}
	if !ok {
		return number{}, failf("takes a number or a text, not %s", KindOf(v))
	}
	n, ok := parse(s)
	if !ok {
		return number{}, failf("the text is not such a number")
	}
	return n, nil
}

// numbers gathers the numbers of arguments that are numbers or lists of them, at any depth.
func (e *Evaluator) numbers(dst []any, args []any, depth int) ([]any, error) {
	if depth > e.Budget.Depth {
		return nil, e.TooDeep()
	}
	for _, v := range args {
		if err := e.charge(1); err != nil {
			return nil, err
		}
		switch KindOf(v) {
		case IsNumeric:
			dst = append(dst, v)
		case IsList:
			items, err := e.Items(v.(*Array))
			if err != nil {
				return nil, err
			}
			if dst, err = e.numbers(dst, items, depth+1); err != nil {
				return nil, err
			}
		default:
			return nil, failf("takes numbers, not %s", KindOf(v))
		}
	}
	return dst, nil
}

// extreme gives the first of the numbers that no other beats, as it was written; null when there is none.
func extreme(beats func(c int) bool) func(*Evaluator, []any) (any, error) {
	return func(e *Evaluator, args []any) (any, error) {
		all, err := e.numbers(nil, args, 1)
		if err != nil || len(all) == 0 {
			return nil, err
		}
		best := all[0]
		for _, v := range all[1:] {
			c, err := e.order(v, best)
			if err != nil {
				return nil, err
			}
			if beats(c) {
				best = v
			}
		}
		return best, nil
	}
}

// doubles gathers the numbers of arguments as doubles.
func (e *Evaluator) doubles(args []any) ([]float64, error) {
	all, err := e.numbers(nil, args, 1)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(all))
	for i, v := range all {
		n, _, err := numberOf(v)
		if err != nil {
			return nil, err
		}
		out[i] = n.float()
	}
	return out, nil
}

func mean(e *Evaluator, args []any) (any, error) {
	all, err := e.doubles(args)
	if err != nil || len(all) == 0 {
		return 0.0, err
	}
	total := 0.0
	for _, f := range all {
		total += f
	}
	return finite(total / float64(len(all)))
}

func median(e *Evaluator, args []any) (any, error) {
	all, err := e.doubles(args)
	if err != nil || len(all) == 0 {
		return 0.0, err
	}
	if err := e.chargeSort(len(all)); err != nil {
		return nil, err
	}
	slices.Sort(all)
	half := len(all) / 2
	if len(all)%2 == 1 {
		return all[half], nil
	}
	return finite((all[half-1] + all[half]) / 2)
}

// bitwise makes a function of two whole numbers.
func bitwise(f func(x, y int64) (int64, bool)) Builtin {
	return Builtin{[]argument{aWhole}, 2, 2, IsNumeric, func(_ *Evaluator, args []any) (any, error) {
		x, y := args[0].(int64), args[1].(int64)
		r, ok := f(x, y)
		if !ok && y < 0 {
			return nil, failf("the shift is negative")
		}
		if !ok {
			return nil, beyond()
		}
		return r, nil
	}}
}

// shiftLeft loses no bit.
func shiftLeft(x, y int64) (int64, bool) {
	if y < 0 || y > 63 {
		return 0, y >= 0 && x == 0
	}
	r := x << y
	return r, r>>y == x
}
