NAME          SPACES
ROWS
 N  COST
 L  ANN B
 E  TOTAL
COLUMNS
    X 1       COST               1.0   ANN B              2.0
    X 1       TOTAL              3.0
    Y 1       COST              -1.0   TOTAL              1.0
RHS
    RHS       ANN B              4.0   TOTAL              5.0
BOUNDS
 UP BND       X 1                7.0
ENDATA
