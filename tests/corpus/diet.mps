* three supplies for two people; a range, an equality, every common kind of bound
NAME          diet
OBJSENSE
    MIN
ROWS
 N  cost
 L  person1
 G  person2
 E  total
 G  budget
COLUMNS
    bread     cost      1.5        person1   1
    bread     person2   2          total     1
    milk      cost      2          person1   -1
    milk      total     1          budget    0.5
    rice      cost      1          person2   1
    rice      budget    -2.5e-1
RHS
    RHS       person1   4          person2   1
    RHS       total     3          cost      -10
RANGES
    RNG       person2   2.5
BOUNDS
 UP BND       bread     5
 LO BND       milk      -1
 FR BND       rice
ENDATA
