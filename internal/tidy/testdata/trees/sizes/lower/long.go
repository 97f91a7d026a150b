// Package lower has long files. // want: filelen
package lower // want: pkglen

const c1 = 1

const c2 = 2

const c3 = 3

const c4 = 4

const c5 = 5

const c6 = 6

const c7 = 7

const c8 = 8

const c9 = 9

const c10 = 10

const c11 = 11

const c12 = 12

const c13 = 13

const c14 = 14

const c15 = 15

const c16 = 16

const c17 = 17

const c18 = 18

const c19 = 19

const c20 = 20

const c21 = 21

const c22 = 22

const c23 = 23

const c24 = 24

const c25 = 25

const c26 = 26

const c27 = 27

const c28 = 28

const c29 = 29

const c30 = 30
