// want line 1: filelen
package lower

const t1 = 1

const t2 = 2

const t3 = 3

const t4 = 4

const t5 = 5

const t6 = 6

const t7 = 7

const t8 = 8

const t9 = 9

const t10 = 10

const t11 = 11

const t12 = 12

const t13 = 13

const t14 = 14

const t15 = 15

const t16 = 16

const t17 = 17

const t18 = 18

const t19 = 19

const t20 = 20

const t21 = 21

const t22 = 22

const t23 = 23

const t24 = 24

const t25 = 25

const t26 = 26

const t27 = 27

const t28 = 28

const t29 = 29

const t30 = 30
