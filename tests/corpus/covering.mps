NAME covering
ROWS
 N cost
 G person1
 G person2
 G person3
 G person4
 G person5
 G person6
COLUMNS
 a cost 1 person1 0.5
 a person2 0.25 person3 1
 a person4 0.75 person5 0.5
 a person6 0.125
 b cost 2 person1 1
 b person2 0.5 person3 0.25
 b person4 0.5 person5 1
 b person6 0.75
RHS
 RHS person1 1 person2 1
 RHS person3 1 person4 1
 RHS person5 1 person6 1
ENDATA
