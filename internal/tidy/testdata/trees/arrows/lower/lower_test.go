package lower_test

import (
	_ "example.test/m/beside" // want: arrow
	_ "example.test/m/lower"
)
