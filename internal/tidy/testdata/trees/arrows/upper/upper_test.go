package upper

import (
	_ "example.test/m" // want: arrow
	_ "example.test/m/beside"
)
