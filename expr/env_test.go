package expr

import "encoding/json"

// testEnv is the environment of the table tests.
func testEnv() Env {
	return Env{
		"input": json.RawMessage(`{
			"total": 1.10, "count": 3, "huge": 1e999999999, "big": 12345678901234567890, "max": 9223372036854775807,
			"name": "Ann", "esc": "caf\u00e9 \"x\"", "half": "\ud800", "none": null, "yes": true, "empty": {}, "list": [],
			"nested": {"a": {"b": [10, {"c": "deep"}]}}, "a-b": {"c": 7}, "dup": 1, "dup": 2,
			"lines": [{"sku": "b", "n": 2}, {"sku": "a", "n": 1.0}, {"sku": "b", "n": 3}], "words": ["x", "y", "x"]
		}`),
		"item":  json.RawMessage(` {"a-b": {"c": [1, 2.50]}} `),
		"n":     7,
		"s":     "héllo",
		"t":     true,
		"null":  nil,
		"void":  json.RawMessage(nil),
		"steps": Env{"b": Env{"output": json.RawMessage(`{"x": 1.50}`), "status": "succeeded"}, "a": Env{"output": nil}},
	}
}
