package upper

const x1 = 1

const x2 = 2

const x3 = 3

const x4 = 4
