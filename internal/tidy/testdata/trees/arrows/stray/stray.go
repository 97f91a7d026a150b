package stray // want: undeclared

import _ "example.test/m/lower"
