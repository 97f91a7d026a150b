package upper

/* a comment
of two lines */

const x1 = 1
const x2 = 2
const x3 = 3
const x4 = 4
const x5 = 5
const x6 = 6
const x7 = 7
const x8 = 8

const long = `

` // three lines
