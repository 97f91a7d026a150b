//tidy:allow filelen the tables of a protocol
package lower

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

const c31 = 31

const c32 = 32

const c33 = 33

const c34 = 34

const c35 = 35

const c36 = 36

const c37 = 37

const c38 = 38

const c39 = 39

const c40 = 40

const c41 = 41

const c42 = 42

const c43 = 43

const c44 = 44

const c45 = 45

const c46 = 46

const c47 = 47

const c48 = 48

const c49 = 49

const c50 = 50

const c51 = 51

const c52 = 52

const c53 = 53

const c54 = 54

const c55 = 55

const c56 = 56

const c57 = 57

const c58 = 58

const c59 = 59

const c60 = 60
